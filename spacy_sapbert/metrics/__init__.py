"""Compute measures from gold annotations and predictions. Nothing here opens a file or runs a pipeline.

`linking`: accuracy at k and candidate recall. `spans`: precision, recall and F1 of mentions, links and documents.
`ranking`: the concepts of whole documents. `calibration`: thresholds, probabilities and risk. `separation`: synonyms
against other names. `bootstrap`: whether a difference is chance. `counts`: percentages, precision, recall, F1.
"""
