from spacy_sapbert.metrics.composites import compare_parts, is_exact, score_parts
from spacy_sapbert.metrics.counts import SetCounts


def test_parts_are_sets_with_case_and_blanks_folded():
    same = compare_parts(["Renal  failure", "liver failure"], ["liver failure", "renal failure", "Liver Failure"])
    assert same == SetCounts(2, 2, 2)
    assert is_exact(same)
    assert not is_exact(compare_parts(["lung", "skin"], ["lung", "skin", "eye"]))
    assert not is_exact(compare_parts(["lung", "skin"], []))


def test_figures_of_three_mentions():
    counts = [SetCounts(2, 2, 2), SetCounts(1, 2, 2), SetCounts(0, 0, 2)]
    assert score_parts(counts) == {"n": 3, "exact": 33.33, "part_p": 75.0, "part_r": 50.0, "part_f1": 60.0}
    assert score_parts([]) == {"n": 0, "exact": 0.0, "part_p": 0.0, "part_r": 0.0, "part_f1": 0.0}
