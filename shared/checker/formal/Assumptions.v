(** The axioms that the theorems rest on: none. scripts/formal compares what this prints with
    assumptions.golden. *)

Require Import Game Symmetry Checker Program.

Print Assumptions moves_legal.
Print Assumptions determined.
Print Assumptions same_wins.
Print Assumptions canonical_same.
Print Assumptions check_part_sound.
Print Assumptions verify_part_sound.
Print Assumptions verify_sound.
