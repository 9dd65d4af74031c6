"""Operations that change data. Each writes rows, versions, postings, one commit and its jobs."""
