(** The program that is extracted, and what it says. *)

From Coq Require Import NArith List Bool FMapPositive.
From Coq Require Extraction.
Import ListNotations.
Require Import Game Symmetry Colours Checker Strategy Leaves.
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
Section Verify.
Variables w h : N.

(** The tables, made once. *)
Definition line_table := memo (rays w h) (squares w h).
Definition near_table := memo (neighbours w h) (squares w h).

Definition verify_with {A} (check : (square -> list (list square)) -> list (list square) ->
    (N -> position -> bool) -> (N -> position -> bool) -> A) : A :=
  let lt := line_table in
  let nt := near_table in
  let srcs := all_sources w h in
  let lines := look (rays w h) lt in
  let near := look (neighbours w h) nt in
  check lines srcs (leaf_won w h lines near) (leaf_lost w h lines near).

Definition verify (most_rules : N) (claims : list claimed) (parts : list part) : bool :=
  board_ok w h &&
  verify_with (fun lines srcs won lost => check_proof w h lines srcs won lost most_rules claims parts).

Definition verify_part (pt : part) : bool :=
  board_ok w h && verify_with (fun lines srcs won lost => check_part w h lines srcs won lost pt).

(** What the program accepts is true. *)
Theorem verify_sound most_rules claims parts : verify most_rules claims parts = true ->
  forall c, In c claims -> holds w h c.
Proof.
  unfold verify, verify_with. intro E. apply andb_prop in E as [B E].
  eapply check_proof_sound; [exact B| |reflexivity| | |exact E].
  - intros. apply look_memo.
  - intros n p. apply leaf_won_sound; auto; intros; apply look_memo.
  - intros n p. apply leaf_lost_sound; auto; intros; apply look_memo.
Qed.

(** The same in colours: of a game on the table that the claimed position is seen of, the program
    knows the winner. *)
Theorem verify_winner most_rules claims parts p b : verify most_rules claims parts = true ->
  In (p, b) claims -> forall g, sees w h g p -> side_wins w h (if b then turn g else other (turn g)) g.
Proof.
  intros E I g S. pose proof (verify_sound _ _ _ E _ I) as H. unfold holds in H; simpl in H.
  unfold verify in E. apply andb_prop in E as [B _].
  destruct b; [eapply colours|eapply colours_lost]; eauto.
Qed.

(** And of the game from its start, where White is to move. *)
Corollary verify_start most_rules claims parts b : verify most_rules claims parts = true ->
  In (start_words w h, b) claims -> side_wins w h (if b then White else Black) (start w h).
Proof.
  intros E I. assert (B : board_ok w h = true) by (unfold verify in E; now apply andb_prop in E).
  apply (verify_winner _ _ _ _ _ E I (start w h)). now apply sees_start.
Qed.

Theorem verify_part_sound pt : verify_part pt = true ->
  (forall c, In c (all_cites pt) -> holds w h c) -> forall r, In r (roots pt) -> holds w h r.
Proof.
  unfold verify_part, verify_with. intro E. apply andb_prop in E as [B E].
  eapply check_part_sound; [exact B| |reflexivity| | |exact E].
  - intros. apply look_memo.
  - intros n p. apply leaf_won_sound; auto; intros; apply look_memo.
  - intros n p. apply leaf_lost_sound; auto; intros; apply look_memo.
Qed.

End Verify.
