(** Symmetries of the board and canonical positions.

    A proof has one position for all its mirror images. [same_wins] says why it may: images have the
    same winner. The change of sides needs no theorem here, since a position has no colours: it is
    seen by the side to move, and [play] swaps the two words. Colours.v ties it to the game with
    colours. *)

From Coq Require Import NArith List Bool Lia Arith Permutation FinFun.
Import ListNotations.
Require Import Game.
Open Scope N_scope.

(** The symmetries, by number, as FORMAT.md lists them:

    FORMAT> The symmetries of a board are: identity, mirror left-right, mirror
    FORMAT> top-bottom, both; and on square boards (`W == H`) also those four followed by the reflection on the
    FORMAT> diagonal A1 (file and rank exchanged). *)
Definition turn (w h k : N) (i : square) : square :=
  let x := if N.testbit k 0 then w - 1 - i mod w else i mod w in
  let y := if N.testbit k 1 then h - 1 - i / w else i / w in
  if N.testbit k 2 then w * x + y else w * y + x.

Definition symmetries (w h : N) : list N := if w =? h then [0; 1; 2; 3; 4; 5; 6; 7] else [0; 1; 2; 3].

(** The symmetry that takes [k] back. *)
Definition inverse (k : N) : N := if k =? 5 then 6 else if k =? 6 then 5 else k.

Definition turn_direction (k : N) (d : direction) : direction :=
  let x := if N.testbit k 0 then opposite (fst d) else fst d in
  let y := if N.testbit k 1 then opposite (snd d) else snd d in
  if N.testbit k 2 then (y, x) else (x, y).

Definition turn_at (w h k : N) (i : square) : bool :=
  (turn w h k i <? w * h) && (turn w h (inverse k) (turn w h k i) =? i) &&
  forallb (fun d => option_eqb (next w h (turn_direction k d) (turn w h k i))
                               (option_map (turn w h k) (next w h d i))) directions.

Lemma turn_all : on_all_boards (fun w h =>
  forallb (fun k => forallb (turn_at w h k) (squares w h)) (symmetries w h)) = true.
Proof. vm_compute. reflexivity. Qed.

Lemma inverse_twice w h k : In k (symmetries w h) -> inverse (inverse k) = k /\ In (inverse k) (symmetries w h).
Proof. unfold symmetries. destruct (w =? h); simpl; intuition (subst; simpl; auto 10). Qed.

Lemma turn_direction_in w h k d : In k (symmetries w h) -> In d directions -> In (turn_direction k d) directions.
Proof.
  assert (F : forallb (fun k => forallb (fun d => existsb (fun e =>
    match e, turn_direction k d with (Down, Down), (Down, Down) | (Down, Stay), (Down, Stay) | (Down, Up), (Down, Up)
    | (Stay, Down), (Stay, Down) | (Stay, Up), (Stay, Up) | (Up, Down), (Up, Down) | (Up, Stay), (Up, Stay)
    | (Up, Up), (Up, Up) => true | _, _ => false end) directions) directions) [0; 1; 2; 3; 4; 5; 6; 7] = true)
    by reflexivity.
  intros K D. rewrite forallb_forall in F. specialize (F k). cbv beta in F. rewrite forallb_forall in F.
  assert (K' : In k [0; 1; 2; 3; 4; 5; 6; 7]).
  { unfold symmetries in K. destruct (w =? h); simpl in *; tauto. }
  specialize (F K' d D). cbv beta in F. apply existsb_exists in F as (e & I & E).
  destruct (turn_direction k d) as [[] []], e as [[] []]; try discriminate E; exact I.
Qed.

Section Same.
Variables w h : N.
Hypothesis B : board_ok w h = true.

Notation turn := (turn w h).
Notation on := (on w h).

Lemma turn_fact k i : In k (symmetries w h) -> on i -> turn_at w h k i = true.
Proof.
  intros K I. pose proof (all_boards _ _ _ turn_all B) as H. cbv beta in H.
  rewrite forallb_forall in H. specialize (H _ K). rewrite forallb_forall in H. auto.
Qed.

Lemma turn_on k i : In k (symmetries w h) -> on i -> on (turn k i).
Proof.
  intros K I. pose proof (turn_fact k i K I) as F. unfold turn_at in F.
  apply andb_prop in F as [F _]. apply andb_prop in F as [F _]. apply in_squares. now apply N.ltb_lt.
Qed.

Lemma turn_back k i : In k (symmetries w h) -> on i -> turn (inverse k) (turn k i) = i.
Proof.
  intros K I. pose proof (turn_fact k i K I) as F. unfold turn_at in F.
  apply andb_prop in F as [F _]. apply andb_prop in F as [_ F]. now apply N.eqb_eq.
Qed.

Lemma turn_forth k i : In k (symmetries w h) -> on i -> turn k (turn (inverse k) i) = i.
Proof.
  intros K I. destruct (inverse_twice w h k K) as [E K']. rewrite <- E at 1. now apply turn_back.
Qed.

Lemma turn_next k d i : In k (symmetries w h) -> on i -> In d directions ->
  next w h (turn_direction k d) (turn k i) = option_map (turn k) (next w h d i).
Proof.
  intros K I D. pose proof (turn_fact k i K I) as F. unfold turn_at in F.
  apply andb_prop in F as [_ F]. rewrite forallb_forall in F. now apply option_eqb_eq, F.
Qed.

Lemma turn_eqb k i j : In k (symmetries w h) -> on i -> on j -> (turn k i =? turn k j) = (i =? j).
Proof.
  intros K I J. destruct (N.eqb_spec i j) as [->|X]; [apply N.eqb_refl|].
  apply N.eqb_neq. intro E. apply X. rewrite <- (turn_back k i K I), E. now apply turn_back.
Qed.

(** [q] is the image of [p] under symmetry [k], on the squares of the board. *)
Definition same (k : N) (p q : position) : Prop :=
  forall i, on i -> N.testbit (wa p) i = N.testbit (wa q) (turn k i) /\
                    N.testbit (wb p) i = N.testbit (wb q) (turn k i).

Lemma same_back k p q : In k (symmetries w h) -> same k p q -> same (inverse k) q p.
Proof.
  intros K S i I. destruct (inverse_twice w h k K) as [E K'].
  destruct (S (turn (inverse k) i)) as [X Y]; [now apply turn_on|].
  rewrite turn_forth in X, Y by auto. now split.
Qed.

Definition turn_move (k : N) (m : move) : move := Move (turn k (from m)) (turn k (to m)) (turn k (arrow m)).

Lemma turn_line k occ occ' d s t : In k (symmetries w h) -> In d directions -> on s ->
  (forall i, on i -> N.testbit occ i = N.testbit occ' (turn k i)) ->
  line w h occ d s t -> line w h occ' (turn_direction k d) (turn k s) (turn k t).
Proof.
  intros K D S O Li. induction Li as [s t E F|s t u E F Li IH].
  - constructor; [now rewrite turn_next, E|]. rewrite <- O; eauto using next_on.
  - apply line_more with (turn k t); [now rewrite turn_next, E| |apply IH; eauto using next_on].
    rewrite <- O; eauto using next_on.
Qed.

Lemma turn_legal k p q m : In k (symmetries w h) -> same k p q -> legal w h p m -> legal w h q (turn_move k m).
Proof.
  intros K S Lm. destruct (legal_facts w h B p m Lm) as (F & T & C & A1 & A2 & _).
  destruct Lm as (_ & _ & (d & D & Q) & (e & E & R)).
  assert (O : forall i, on i -> N.testbit (occupied p) i = N.testbit (occupied q) (turn k i)).
  { intros i I. rewrite !occupied_at. destruct (S i I) as [-> ->]. reflexivity. }
  repeat split; simpl.
  - now apply turn_on.
  - unfold own. destruct (S _ F) as [<- <-]. now rewrite A1, A2.
  - exists (turn_direction k d). split; eauto using turn_direction_in, turn_line.
  - exists (turn_direction k e). split; eauto using turn_direction_in.
    eapply turn_line; [eauto..| |eauto]. intros i I. rewrite !clearbit_at, <- O, turn_eqb; auto.
Qed.

Lemma turn_play k p q m : In k (symmetries w h) -> same k p q -> legal w h p m ->
  same k (play p m) (play q (turn_move k m)).
Proof.
  intros K S Lm i I. destruct (legal_facts w h B p m Lm) as (F & T & C & _).
  destruct (S i I) as [X Y]. unfold play; simpl.
  rewrite !setbit_at, !clearbit_at, !turn_eqb, X, Y; auto.
Qed.

(** Images have the same winner. *)
Theorem same_wins p : wins w h p -> forall k q, In k (symmetries w h) -> same k p q -> wins w h q.
Proof.
  intro W. revert p W.
  apply (wins_mut w h
    (fun p _ => forall k q, In k (symmetries w h) -> same k p q -> wins w h q)
    (fun p _ => forall k q, In k (symmetries w h) -> same k p q -> loses w h q)).
  - intros p m Lm Lo IH k q K S. apply wins_by with (turn_move k m); [eauto using turn_legal|].
    apply (IH k); auto using turn_play.
  - intros p All IH k q K S. constructor. intros m Lm.
    destruct (inverse_twice w h k K) as [E K']. pose proof (same_back k p q K S) as S'.
    pose proof (turn_legal _ _ _ _ K' S' Lm) as Lp.
    replace m with (turn_move k (turn_move (inverse k) m)); [|].
    + apply (IH _ Lp k); auto using turn_play.
    + destruct (legal_facts w h B q m Lm) as (F & T & C & _). unfold turn_move; simpl.
      rewrite !turn_forth; auto. now destruct m.
Qed.

Theorem same_loses p k q : In k (symmetries w h) -> same k p q -> loses w h p -> loses w h q.
Proof.
  intros K S Lo. destruct (one_of_both w h B q) as [W|]; auto.
  destruct (inverse_twice w h k K) as [E K'].
  exfalso. apply (not_both w h B p); auto. apply (same_wins q W (inverse k)); auto using same_back.
Qed.

(** Images have the same number of burnt squares. *)
Lemma same_arrows k p q : In k (symmetries w h) -> same k p q -> arrows w h p = arrows w h q.
Proof.
  intros K S. unfold arrows.
  assert (P : Permutation (map (turn k) (squares w h)) (squares w h)).
  { apply NoDup_Permutation_bis.
    - assert (G : forall l, (forall i, In i l -> on i) -> NoDup l -> NoDup (map (turn k) l)).
      { induction l as [|x l IH]; simpl; intros A ND; constructor; inversion ND; subst; auto.
        intro J. apply in_map_iff in J as (y & E & J). apply H1. replace x with y; auto.
        rewrite <- (turn_back k y), <- (turn_back k x), E; auto. }
      apply G; [auto|apply squares_nodup].
    - now rewrite map_length.
    - intros x J. apply in_map_iff in J as (y & <- & J). now apply turn_on. }
  assert (M : forall l l', Permutation l l' -> count (burnt q) l = count (burnt q) l').
  { induction 1; unfold count in *; simpl; auto.
    - destruct (burnt q x); simpl; auto.
    - destruct (burnt q x), (burnt q y); simpl; auto.
    - congruence. }
  rewrite <- (M _ _ P).
  assert (G : forall l, (forall i, In i l -> on i) -> count (burnt p) l = count (burnt q) (map (turn k) l)).
  { induction l as [|x l IH]; simpl; intro A; auto. unfold count in *. simpl.
    replace (burnt q (turn k x)) with (burnt p x)
      by (unfold burnt; destruct (S x) as [-> ->]; auto).
    destruct (burnt p x); simpl; rewrite IH; auto. }
  apply G. auto.
Qed.

End Same.

(** * Canonical positions as a program *)

Fixpoint of_bits (l : list bool) : N :=
  match l with
  | [] => 0
  | b :: l' => if b then N.succ_double (of_bits l') else N.double (of_bits l')
  end.

Lemma of_bits_at l n : N.testbit (of_bits l) (N.of_nat n) = nth n l false.
Proof.
  revert n; induction l as [|b l IH]; intro n; [now destruct n|].
  destruct n; simpl of_bits.
  - destruct b; [now rewrite N.succ_double_spec, N.testbit_odd_0|now rewrite N.double_spec, N.testbit_even_0].
  - rewrite Nat2N.inj_succ. destruct b.
    + rewrite N.succ_double_spec, N.testbit_odd_succ by lia. apply IH.
    + rewrite N.double_spec, N.testbit_even_succ by lia. apply IH.
Qed.

(** The squares from which symmetry [k] brings something to the squares 0, 1, 2, ... *)
Definition sources (w h k : N) : list square := map (turn w h (inverse k)) (squares w h).

Definition image (src : list square) (x : N) : N := of_bits (map (N.testbit x) src).

Definition less (p q : position) : bool :=
  match wa p ?= wa q with Lt => true | Eq => wb p <? wb q | Gt => false end.

(** FORMAT> The *canonical* position is the image with the smallest `A`,
    FORMAT> and among those with the smallest `B`. *)
Fixpoint smallest (srcs : list (list square)) (p best : position) : position :=
  match srcs with
  | [] => best
  | src :: rest =>
    let a := image src (wa p) in
    smallest rest p
      (match a ?= wa best with
       | Lt => Pos a (image src (wb p))
       | Eq => let b := image src (wb p) in if b <? wb best then Pos a b else best
       | Gt => best
       end)
  end.
Definition canonical (srcs : list (list square)) (p : position) : position := smallest srcs p p.

Section Canonical.
Variables w h : N.
Hypothesis B : board_ok w h = true.

Lemma image_at k x i : on w h i ->
  N.testbit (image (sources w h k) x) i = N.testbit x (turn w h (inverse k) i).
Proof.
  intro I. apply in_squares in I. unfold image, sources, squares. rewrite !map_map.
  rewrite <- (N2Nat.id i) at 1. rewrite of_bits_at.
  set (g := fun n => N.testbit x (turn w h (inverse k) (N.of_nat n))).
  rewrite nth_indep with (d' := g O) by (rewrite map_length, seq_length; lia).
  rewrite (map_nth g), seq_nth by lia. unfold g. now rewrite Nat.add_0_l, N2Nat.id.
Qed.

Lemma image_same k p : In k (symmetries w h) ->
  same w h k p (Pos (image (sources w h k) (wa p)) (image (sources w h k) (wb p))).
Proof.
  intros K i I. simpl. rewrite !image_at by now apply turn_on. now rewrite turn_back by auto.
Qed.

Lemma same_self p : same w h 0 p p.
Proof.
  intros i I. assert (E : turn w h 0 i = i); [|now rewrite E].
  unfold turn; simpl. apply in_squares in I. symmetry. apply N.div_mod. lia.
Qed.

Definition all_sources : list (list square) := map (sources w h) (symmetries w h).

(** The canonical position is an image. *)
Theorem canonical_same p : exists k, In k (symmetries w h) /\ same w h k p (canonical all_sources p).
Proof.
  unfold canonical, all_sources.
  assert (G : forall ks best, (forall k, In k ks -> In k (symmetries w h)) ->
    (exists k, In k (symmetries w h) /\ same w h k p best) ->
    exists k, In k (symmetries w h) /\ same w h k p (smallest (map (sources w h) ks) p best)).
  { induction ks as [|k ks IH]; simpl; intros best A E; auto. apply IH; [auto|].
    destruct (_ ?= _) eqn:C; auto.
    - destruct (_ <? _); auto. exists k. split; auto. now apply image_same; auto.
    - exists k. split; auto. now apply image_same; auto. }
  apply G; auto. exists 0. split; [|apply same_self].
  unfold symmetries. destruct (w =? h); simpl; auto.
Qed.

Lemma less_trans_false p q r : less p q = false -> less q r = false -> less p r = false.
Proof.
  unfold less. destruct (N.compare_spec (wa p) (wa q)), (N.compare_spec (wa q) (wa r)),
    (N.compare_spec (wa p) (wa r)); rewrite ?N.ltb_ge; try easy; lia.
Qed.

(** No image is smaller. *)
Theorem canonical_least p src : In src all_sources ->
  less (Pos (image src (wa p)) (image src (wb p))) (canonical all_sources p) = false.
Proof.
  unfold canonical. intro I.
  assert (G : forall l best, less best (smallest l p best) = false /\
    forall src, In src l -> less (Pos (image src (wa p)) (image src (wb p))) (smallest l p best) = false).
  { induction l as [|x l IH]; intro best; simpl.
    - split; [|easy]. unfold less. now rewrite N.compare_refl, N.ltb_irrefl.
    - match goal with |- context [smallest l p ?b] => set (better := b) end.
      assert (G1 : less best better = false /\ less (Pos (image x (wa p)) (image x (wb p))) better = false).
      { unfold better, less; simpl. destruct (N.compare_spec (image x (wa p)) (wa best)) as [E|E|E].
        - destruct (N.ltb_spec (image x (wb p)) (wb best)); simpl; rewrite <- ?E, !N.compare_refl, ?E, ?N.compare_refl;
            rewrite !N.ltb_ge; lia.
        - simpl. rewrite N.compare_refl, N.ltb_irrefl. split; auto.
          destruct (N.compare_spec (wa best) (image x (wa p))); rewrite ?N.ltb_ge; auto; lia.
        - rewrite N.compare_refl, N.ltb_irrefl. split; auto.
          destruct (N.compare_spec (image x (wa p)) (wa best)); rewrite ?N.ltb_ge; auto; lia. }
      destruct (IH better) as [H1 H2]. destruct G1 as [G1 G2]. split.
      + eapply less_trans_false; eauto.
      + intros src' [<-|J]; [eapply less_trans_false; eauto|auto]. }
  now apply G.
Qed.

End Canonical.
