"""Measures: gold annotations and predictions in, numbers out. Nothing here opens a file or runs a pipeline.

`linking`: accuracy at k and the recall of candidates. `spans`: precision, recall and F1 of mentions, links and
documents. `ranking`: the concepts of whole documents. `calibration`: thresholds, probabilities and risk. `separation`:
synonyms against other names. `bootstrap`: whether a difference is chance. `counts`: percentages, precision, recall, F1.
"""
