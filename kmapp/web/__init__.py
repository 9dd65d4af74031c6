"""The frame that people work in: sign-in, navigation, home, and what every page is made of.

Pages of memory, knowledge, rules and context live with their rows; they enter through `seats`,
answer through `http`, and are composed here by name only.
"""
