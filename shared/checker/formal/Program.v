(** The program that is extracted, and what it says. *)

From Coq Require Import NArith List Bool FMapPositive.
From Coq Require Extraction.
Import ListNotations.
Require Import Game Symmetry Checker.
Open Scope N_scope.

(** A table of the values of a function, for speed. *)
Section Memo.
Context {A : Type}.
Variable f : N -> A.
Definition memo (keys : list N) : PositiveMap.t A :=
  fold_left (fun t k => PositiveMap.add (key k) (f k) t) keys (PositiveMap.empty A).
Definition look (t : PositiveMap.t A) (k : N) : A :=
  match PositiveMap.find (key k) t with Some a => a | None => f k end.

Lemma look_memo keys k : look (memo keys) k = f k.
Proof.
  unfold look, memo.
  assert (G : forall t, (forall k a, PositiveMap.find (key k) t = Some a -> a = f k) ->
    forall a, PositiveMap.find (key k)
      (fold_left (fun t k => PositiveMap.add (key k) (f k) t) keys t) = Some a -> a = f k).
  { induction keys as [|x l IH]; simpl; intros t T; [apply T|]. apply IH. intros y a.
    destruct (Pos.eq_dec (key y) (key x)) as [E|E].
    - rewrite E, PositiveMap.gss. apply key_inj in E. subst. now injection 1.
    - rewrite PositiveMap.gso; auto. }
  destruct (PositiveMap.find _ _) as [a|] eqn:E; auto. apply G in E; auto.
  intros y b. now rewrite PositiveMap.gempty.
Qed.
End Memo.

(** The two questions that the program answers: does a proof hold, and does one part hold given what
    it cites? *)
Definition verify (w h most_rules : N) (claims : list claimed) (parts : list part) : bool :=
  board_ok w h &&
  let t := memo (rays w h) (squares w h) in
  let srcs := all_sources w h in
  check_proof w h (look (rays w h) t) srcs (fun _ _ => false) (fun _ _ => false) most_rules claims parts.

Definition verify_part (w h : N) (pt : part) : bool :=
  board_ok w h &&
  let t := memo (rays w h) (squares w h) in
  let srcs := all_sources w h in
  check_part w h (look (rays w h) t) srcs (fun _ _ => false) (fun _ _ => false) pt.

(** What the program accepts is true. *)
Theorem verify_sound w h most_rules claims parts : verify w h most_rules claims parts = true ->
  forall c, In c claims -> holds w h c.
Proof.
  unfold verify. intro E. apply andb_prop in E as [B E].
  eapply check_proof_sound; [exact B| |reflexivity| | |exact E]; try easy.
  intros. apply look_memo.
Qed.

Theorem verify_part_sound w h pt : verify_part w h pt = true ->
  (forall c, In c (all_cites pt) -> holds w h c) -> forall r, In r (roots pt) -> holds w h r.
Proof.
  unfold verify_part. intro E. apply andb_prop in E as [B E].
  eapply check_part_sound; [exact B| |reflexivity| | |exact E]; try easy.
  intros. apply look_memo.
Qed.
