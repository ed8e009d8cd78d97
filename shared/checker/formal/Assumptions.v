(** The axioms that the theorems rest on: none. scripts/formal compares what this prints with
    assumptions.golden. *)

Require Import Game Colours Symmetry Strategy Leaves Checker Program.

Print Assumptions moves_legal.
Print Assumptions determined.
Print Assumptions colours.
Print Assumptions same_wins.
Print Assumptions canonical_same.
Print Assumptions canonical_least.
Print Assumptions hold.
Print Assumptions rule_2a_sound.
Print Assumptions rule_2b_sound.
Print Assumptions rule_2c_sound.
Print Assumptions rule_3_sound.
Print Assumptions check_part_sound.
Print Assumptions check_proof_sound.
Print Assumptions verify_part_sound.
Print Assumptions verify_winner.
Print Assumptions verify_start.
Print Assumptions verify_sound.
