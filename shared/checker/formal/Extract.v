(** Extraction to OCaml. Booleans, pairs, options and lists become those of OCaml, which are the same
    types; numbers stay as Coq defines them, so no arithmetic of OCaml is believed. *)

From Coq Require Import Extraction ExtrOcamlBasic.
Require Import Program.

Extraction Language OCaml.
Extraction "verified.ml" verify verify_part.
