"""Tagging mentions: one linear-chain CRF per type, which learns from partly annotated documents."""
