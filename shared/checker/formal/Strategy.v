(** Why leaf rules 2 and 3 hold: a side that only plods wins if it counts enough moves.

    Throughout this file the side O is to move in a position p, and P is the other side. So O's
    queens are p's own queens, and P's are the opponent's. O stays in a region R that is walled by
    burnt squares and queens of P. P has a plan of plods outside R, and a number of areas of R in
    which it has a safe move. [hold] is the counting lemma and the sum of areas in one: P wins if
    the plods of the plan and two for each safe area are at least the empty squares of R.

    FORMAT> O's region is `C` and the squares of O's queens. Every move of O burns one square of O's region,
    FORMAT> O's queens always take up as many of its squares, and as long as P only plods, that region never
    FORMAT> grows, so O has at most N moves left.

    FORMAT> P promises that each queen next to `C` shoots back at the square it came from with
    FORMAT> its first move, and that each plod does. So no square opens for O, and each area is a game of
    FORMAT> its own: *)

From Coq Require Import NArith List Bool Lia Arith.
Import ListNotations.
Require Import Game.
Open Scope N_scope.

Section Strategy.
Variables w h : N.
Hypothesis B : board_ok w h = true.
Notation on := (on w h).

(** FORMAT> Two squares are neighbours if they touch, diagonally too. *)
Definition touch (i j : square) : Prop := exists d, In d directions /\ next w h d i = Some j.

Lemma touch_on i j : on i -> touch i j -> on j.
Proof. intros I (d & D & E). eauto using next_on. Qed.
Lemma touch_sym i j : on i -> touch i j -> touch j i.
Proof. intros I (d & D & E). exists (back d). eauto using next_back, back_in. Qed.
Lemma touch_other i j : on i -> touch i j -> j <> i.
Proof. intros I (d & D & E). eauto using next_other. Qed.

(** * Moves stay inside a walled region *)

(** If free squares next to X are in X, then lines from X stay in X. They are lines over any other
    set of occupied squares as well, if that leaves X's free squares free. *)
Lemma line_in (X : square -> Prop) occ occ' d s t :
  (forall r u, on r -> X r -> touch r u -> occ @ u = false -> X u) ->
  (forall u, X u -> occ @ u = false -> occ' @ u = false) ->
  In d directions -> on s -> X s -> line w h occ d s t -> X t /\ line w h occ' d s t.
Proof.
  intros C O D S Xs Li. induction Li as [s t E F|s t u E F Li IH].
  - assert (X t) by (apply (C s); auto; exists d; auto). split; auto. constructor; auto.
  - assert (X t) by (apply (C s); auto; exists d; auto).
    destruct IH as [IH1 IH2]; eauto using next_on. split; auto. eapply line_more; eauto.
Qed.

(** The same for a move. *)
Lemma move_in (X : square -> Prop) p m :
  (forall r u, on r -> X r -> touch r u -> occupied p @ u = false -> X u) ->
  X (from m) -> legal w h p m -> X (to m) /\ X (arrow m).
Proof.
  intros C Xf Lm. destruct (legal_facts w h B p m Lm) as (F & T & A & _).
  destruct Lm as (_ & _ & (d & D & Q) & (e & E & R)).
  destruct (line_in X (occupied p) (occupied p) d (from m) (to m)) as [Xt _]; auto. split; auto.
  destruct (line_in X (N.clearbit (occupied p) (from m)) (N.clearbit (occupied p) (from m)) e (to m) (arrow m))
    as [Xa _]; auto.
  intros r u Or Xr Tu Fr. rewrite clearbit_at in Fr.
  destruct (N.eqb_spec (from m) u) as [<-|]; auto. rewrite andb_true_r in Fr. eauto.
Qed.

(** A move of p is a move of p', if the two agree on X. *)
Lemma move_same (X : square -> Prop) p p' m :
  (forall r u, on r -> X r -> touch r u -> occupied p @ u = false -> X u) ->
  (forall u, on u -> X u -> occupied p @ u = occupied p' @ u /\ own p u = own p' u) ->
  X (from m) -> legal w h p m -> legal w h p' m.
Proof.
  intros C O Xf Lm. destruct (legal_facts w h B p m Lm) as (F & T & A & _).
  destruct (move_in X p m C Xf Lm) as [Xt Xa].
  destruct Lm as (_ & Ow & (d & D & Q) & (e & E & R)).
  assert (C' : forall r u, on r -> (on r /\ X r) -> touch r u -> occupied p @ u = false -> on u /\ X u).
  { intros r u Or [_ Xr] Tu Fr. eauto using touch_on. }
  repeat split; auto.
  - destruct (O _ F Xf) as [_ <-]. auto.
  - exists d. split; auto.
    eapply (line_in (fun u => on u /\ X u) (occupied p)); [| |exact D|exact F|auto|exact Q]; auto.
    intros u [Ou Xu] Fr. destruct (O u Ou Xu) as [<- _]. auto.
  - exists e. split; auto.
    eapply (line_in (fun u => on u /\ X u) (N.clearbit (occupied p) (from m)));
      [| |exact E|exact T|auto|exact R].
    + intros r u Or [_ Xr] Tu Fr. rewrite clearbit_at in Fr.
      destruct (N.eqb_spec (from m) u) as [<-|]; auto. rewrite andb_true_r in Fr. eauto using touch_on.
    + intros u [Ou Xu]. rewrite !clearbit_at. destruct (O u Ou Xu) as [<- _]. auto.
Qed.

(** * What a move of O and a plod of P change *)

Definition swap (p : position) : position := Pos (wb p) (wa p).

Lemma swap_swap p : swap (swap p) = p.
Proof. now destruct p. Qed.

(** The position after a move of O, still seen by O; P is to move. *)
Definition moved (p : position) (m : move) : position := swap (play p m).

Lemma moved_wb p m i : wb (moved p m) @ i = (arrow m =? i) || wb p @ i.
Proof. unfold moved, swap, play; simpl. apply setbit_at. Qed.

Lemma moved_occupied p m i : legal w h p m ->
  occupied (moved p m) @ i = (arrow m =? i) || (to m =? i) || (occupied p @ i && negb (from m =? i)).
Proof.
  intro Lm. destruct (legal_facts w h B p m Lm) as (_ & _ & _ & A1 & A2 & _).
  rewrite !occupied_at. unfold moved, swap, play; simpl. rewrite !setbit_at, clearbit_at.
  destruct (N.eqb_spec (from m) i) as [<-|].
  - rewrite A1, A2. destruct (_ =? _), (_ =? _); reflexivity.
  - destruct (arrow m =? i), (to m =? i), (wa p @ i), (wb p @ i); reflexivity.
Qed.

Lemma moved_own p m i : legal w h p m -> own (moved p m) i = true -> own p i = true \/ i = to m.
Proof.
  intros Lm. destruct (legal_facts w h B p m Lm) as (_ & _ & _ & A1 & A2 & _).
  unfold own, moved, swap, play; simpl. rewrite !setbit_at, clearbit_at.
  destruct (N.eqb_spec (to m) i) as [<-|]; auto.
  destruct (N.eqb_spec (arrow m) i) as [<-|]; simpl; [easy|].
  destruct (wa p @ i), (wb p @ i), (from m =? i); simpl; auto.
Qed.

Lemma moved_own_same p m i : i <> from m -> i <> to m -> i <> arrow m -> own (moved p m) i = own p i.
Proof.
  intros F T A. unfold own, moved, swap, play; simpl. rewrite !setbit_at, clearbit_at.
  destruct (N.eqb_spec (to m) i); [congruence|]. destruct (N.eqb_spec (arrow m) i); [congruence|].
  destruct (N.eqb_spec (from m) i); [congruence|]. simpl. now rewrite andb_true_r.
Qed.

Lemma moved_opp p m i : legal w h p m -> opp (moved p m) i = opp p i.
Proof.
  intro Lm. destruct (legal_facts w h B p m Lm) as (_ & _ & _ & A1 & A2 & A3 & A4 & A5).
  unfold opp, moved, swap, play; simpl. rewrite !setbit_at, clearbit_at.
  destruct (N.eqb_spec (arrow m) i) as [<-|].
  - destruct A5 as [->|[-> ->]]; [now rewrite A1|reflexivity].
  - destruct (N.eqb_spec (to m) i) as [<-|]; [now rewrite A3, A4|].
    destruct (N.eqb_spec (from m) i) as [<-|]; simpl; [now rewrite A1, A2|]. now rewrite andb_true_r.
Qed.

(** FORMAT> A *plod*: a queen steps to a neighbouring square and shoots at the square it came from. *)
Definition plod (p : position) (g s : square) : position := Pos (N.setbit (wa p) g) (N.setbit (wb p) s).

Lemma plod_occupied p g s i : opp p g = true ->
  occupied (plod p g s) @ i = occupied p @ i || (s =? i).
Proof.
  intro G. rewrite !occupied_at. unfold plod; simpl. rewrite !setbit_at.
  unfold opp in G. destruct (N.eqb_spec g i) as [<-|].
  - destruct (wa p @ g), (wb p @ g); try easy; destruct (s =? g); reflexivity.
  - destruct (s =? i), (wa p @ i), (wb p @ i); reflexivity.
Qed.

Lemma plod_own p g s i : opp p g = true -> occupied p @ s = false -> own (plod p g s) i = own p i.
Proof.
  intros G F. rewrite occupied_at in F. unfold own, opp, plod in *; simpl. rewrite !setbit_at.
  destruct (N.eqb_spec g i) as [E|]; destruct (N.eqb_spec s i) as [E'|]; subst;
    repeat match goal with |- context [?x @ ?y] => destruct (x @ y) end; easy.
Qed.

Lemma plod_opp p g s i : i <> g -> opp p i = true -> opp (plod p g s) i = true.
Proof.
  intros N G. unfold opp, plod in *; simpl. rewrite !setbit_at.
  destruct (N.eqb_spec g i); [congruence|].
  destruct (wa p @ i), (wb p @ i); try easy; now destruct (s =? i).
Qed.

Lemma plod_opp_new p g s : g <> s -> occupied p @ s = false -> opp (plod p g s) s = true.
Proof.
  intros N F. rewrite occupied_at in F. unfold opp, plod in *; simpl. rewrite !setbit_at, N.eqb_refl.
  destruct (N.eqb_spec g s); [congruence|]. now destruct (wa p @ s), (wb p @ s).
Qed.

(** A plod is a legal move of P. *)
Lemma plod_wins p g s : on g -> opp p g = true -> touch g s -> occupied p @ s = false ->
  loses w h (plod p g s) -> wins w h (swap p).
Proof.
  intros G O (d & D & E) F Lo.
  assert (OS : forall i, occupied (swap p) @ i = occupied p @ i).
  { intro i. rewrite !occupied_at. apply orb_comm. }
  apply wins_by with (Move g s g).
  - repeat split; simpl; auto.
    + unfold own, opp, swap in *; simpl. now rewrite andb_comm.
    + exists d. split; auto. constructor; auto. now rewrite OS.
    + exists (back d). split; [now apply back_in|]. constructor; [now apply next_back|].
      rewrite clearbit_at, N.eqb_refl. now rewrite andb_false_r.
  - replace (play (swap p) (Move g s g)) with (plod p g s); auto.
    unfold play, plod, swap; simpl. f_equal. apply N.bits_inj. intro i.
    rewrite !setbit_at, clearbit_at. unfold opp in O.
    destruct (N.eqb_spec g i) as [<-|]; simpl; [|now rewrite andb_true_r].
    destruct (wa p @ g), (wb p @ g); try easy; now rewrite orb_true_r.
Qed.

(** * Plans *)

(** A plan is a list of plods: with queens of P on the squares Q, over the squares T. *)
Fixpoint plan_ok (Q T : square -> Prop) (plan : list (square * square)) : Prop :=
  match plan with
  | [] => True
  | (g, s) :: rest => Q g /\ T s /\ touch g s /\
      plan_ok (fun x => x = s \/ (Q x /\ x <> g)) (fun x => T x /\ x <> s) rest
  end.

Lemma plan_mono plan : forall (Q T Q' T' : square -> Prop), (forall x, Q x -> Q' x) -> (forall x, T x -> T' x) ->
  plan_ok Q T plan -> plan_ok Q' T' plan.
Proof.
  induction plan as [|(g & s) plan IH]; simpl; auto.
  intros Q T Q' T' HQ HT (H1 & H2 & H3 & H4). repeat split; auto.
  eapply IH; [| |exact H4]; simpl; intros x; intuition auto.
Qed.

(** * The state of the strategy *)

Variable R : square -> bool.          (** O's region *)
Variable col : square -> nat.         (** the number of the area that a square lies in *)

Definition open_squares (p : position) : nat := count (fun i => R i && negb (occupied p @ i)) (squares w h).

(** P can step in area k: a queen g of P in F stands next to an empty square s of R, both of it. *)
Definition can_step (F : square -> Prop) (k : nat) (p : position) (g s : square) : Prop :=
  F g /\ col g = k /\ touch g s /\ on s /\ R s = true /\ col s = k /\ occupied p @ s = false.

(** FORMAT> A has a *safe move* if P can step whatever O does first: a free queen of A has a neighbour among
    FORMAT> its squares of `C`; and after each move of a queen of O inside A, a free queen of A has an empty
    FORMAT> square of A as a neighbour. *)
Definition safe_area (F : square -> Prop) (k : nat) (p : position) : Prop :=
  (exists g s, can_step F k p g s) /\
  forall m, legal w h p m -> col (from m) = k -> exists g s, can_step F k (moved p m) g s.

Record held (Q T F : square -> Prop) (plan : list (square * square)) (S : list nat) (p : position) : Prop := {
  h_own : forall i, on i -> own p i = true -> R i = true;
  h_wall : forall r s, on r -> R r = true -> touch r s -> R s = true \/ wb p @ s = true;
  h_col : forall r s, on r -> R r = true -> R s = true -> touch r s -> col r = col s;
  h_plan : plan_ok Q T plan;
  h_Q : forall x, Q x -> on x /\ opp p x = true;
  h_T : forall x, T x -> on x /\ occupied p @ x = false /\ R x = false;
  h_F : forall x, F x -> on x /\ opp p x = true /\ ~ Q x;
  h_S : forall k, In k S -> safe_area F k p;
  h_nodup : NoDup S
}.

Definition in_area (k : nat) (i : square) : Prop := R i = true /\ col i = k.

Lemma area_closed p k :
  (forall r s, on r -> R r = true -> touch r s -> R s = true \/ wb p @ s = true) ->
  (forall r s, on r -> R r = true -> R s = true -> touch r s -> col r = col s) ->
  forall r u, on r -> in_area k r -> touch r u -> occupied p @ u = false -> in_area k u.
Proof.
  intros W C r u Or [Rr Cr] Tu F. rewrite occupied_at in F. apply orb_false_iff in F as [_ F].
  destruct (W r u Or Rr Tu) as [Ru|Wu]; [|congruence]. split; auto. rewrite <- (C r u); auto.
Qed.

(** A safe area stays safe while nothing changes in it. *)
Lemma safe_stays (F F' : square -> Prop) k p p' :
  (forall r s, on r -> R r = true -> touch r s -> R s = true \/ wb p' @ s = true) ->
  (forall r s, on r -> R r = true -> R s = true -> touch r s -> col r = col s) ->
  (forall i, on i -> own p' i = true -> R i = true) ->
  (forall i, on i -> in_area k i -> occupied p' @ i = occupied p @ i /\ own p' i = own p i) ->
  (forall g, F g -> col g = k -> F' g) ->
  safe_area F k p -> safe_area F' k p'.
Proof.
  intros W C O E FF [(g & s & Fg & Cg & Tg & Os & Rs & Cs & Fs) Next]. split.
  - exists g, s. repeat split; auto. destruct (E s) as [-> _]; auto. now split.
  - intros m Lm Cm. destruct (legal_facts w h B p' m Lm) as (Ff & Ft & Fa & _).
    assert (Xf : in_area k (from m)).
    { split; auto. apply O; auto. now destruct Lm as (_ & ? & _). }
    assert (Lp : legal w h p m).
    { eapply (move_same (in_area k) p'); eauto using area_closed. }
    destruct (Next m Lp Cm) as (g' & s' & Fg' & Cg' & Tg' & Os' & Rs' & Cs' & Fs').
    exists g', s'. repeat split; auto. rewrite moved_occupied in * by auto.
    destruct (E s') as [-> _]; auto. now split.
Qed.

Lemma open_one p p' x : on x -> R x = true -> occupied p @ x = false -> occupied p' @ x = true ->
  (forall i, i <> x -> occupied p' @ i = occupied p @ i) -> open_squares p = S (open_squares p').
Proof.
  intros Ox Rx F F' E. unfold open_squares. apply count_one with x; auto using squares_nodup.
  - now rewrite Rx, F.
  - now rewrite F', andb_false_r.
  - intros i I. now rewrite E.
Qed.

Lemma nodup_remove (l : list nat) k : NoDup l -> NoDup (remove Nat.eq_dec k l).
Proof.
  induction l as [|x l IH]; simpl; auto. intros ND. inversion ND; subst.
  destruct (Nat.eq_dec k x); auto. constructor; auto. intro J. apply in_remove in J. tauto.
Qed.

(** ** A move of O *)
Lemma O_moves Q T F plan S p m : held Q T F plan S p -> legal w h p m ->
  held Q T F plan (remove Nat.eq_dec (col (from m)) S) (moved p m) /\
  open_squares p = Datatypes.S (open_squares (moved p m)).
Proof.
  intros H Lm. pose proof (legal_facts w h B p m Lm) as (Of & Ot & Oa & A1 & A2 & A3 & A4 & A5).
  assert (Xf : in_area (col (from m)) (from m)).
  { split; auto. apply (h_own _ _ _ _ _ _ H); auto. now destruct Lm as (_ & ? & _). }
  destruct (move_in (in_area (col (from m))) p m) as [Xt Xa]; auto.
  { apply area_closed; [apply (h_wall _ _ _ _ _ _ H)|apply (h_col _ _ _ _ _ _ H)]. }
  assert (W : forall r s, on r -> R r = true -> touch r s -> R s = true \/ wb (moved p m) @ s = true).
  { intros r s Or Rr Tr. rewrite moved_wb. destruct (h_wall _ _ _ _ _ _ H r s) as [X|X]; auto. rewrite X.
    right. apply orb_true_r. }
  assert (Ow : forall i, on i -> own (moved p m) i = true -> R i = true).
  { intros i I O. apply moved_own in O as [O| ->]; auto; [|apply Xt]. now apply (h_own _ _ _ _ _ _ H). }
  split.
  - constructor; auto.
    + apply (h_col _ _ _ _ _ _ H).
    + apply (h_plan _ _ _ _ _ _ H).
    + intros x Qx. rewrite moved_opp by auto. now apply (h_Q _ _ _ _ _ _ H).
    + intros x Tx. destruct (h_T _ _ _ _ _ _ H x Tx) as (Ox & Fx & Rx). repeat split; auto.
      rewrite moved_occupied, Fx by auto.
      destruct (N.eqb_spec (arrow m) x) as [<-|]; [destruct Xa; congruence|].
      destruct (N.eqb_spec (to m) x) as [<-|]; [destruct Xt; congruence|]. reflexivity.
    + intros x Fx. rewrite moved_opp by auto. now apply (h_F _ _ _ _ _ _ H).
    + intros k K. apply in_remove in K as [K N].
      apply safe_stays with (F := F) (p := p); auto; [apply (h_col _ _ _ _ _ _ H)| |now apply (h_S _ _ _ _ _ _ H)].
      intros i I [Ri Ci]. destruct Xf as [_ Cf], Xt as [_ Ct], Xa as [_ Ca].
      assert (i <> from m /\ i <> to m /\ i <> arrow m) as (N1 & N2 & N3)
        by (repeat split; intros ->; congruence).
      split; [|now apply moved_own_same]. rewrite moved_occupied by auto.
      destruct (N.eqb_spec (arrow m) i); [congruence|]. destruct (N.eqb_spec (to m) i); [congruence|].
      destruct (N.eqb_spec (from m) i); [congruence|]. simpl. apply andb_true_r.
    + apply nodup_remove, (h_nodup _ _ _ _ _ _ H).
  - (* the square that the queen left is empty now, and two others are not *)
    set (mid := fun i => R i && (negb (occupied p @ i) || (from m =? i))).
    set (mid2 := fun i => mid i && negb (to m =? i)).
    assert (M1 : count mid (squares w h) = Datatypes.S (open_squares p)).
    { unfold open_squares. apply count_one with (from m); auto using squares_nodup.
      - unfold mid. destruct Xf as [-> _]. now rewrite N.eqb_refl, orb_true_r.
      - rewrite occupied_at, A1. simpl. now rewrite andb_false_r.
      - intros i I. unfold mid. destruct (N.eqb_spec (from m) i); [congruence|]. now rewrite orb_false_r. }
    assert (TF : to m <> from m) by (intros E; rewrite E in A3; congruence).
    assert (M2 : count mid (squares w h) = Datatypes.S (count mid2 (squares w h))).
    { apply count_one with (to m); auto using squares_nodup.
      - unfold mid. destruct Xt as [-> _]. now rewrite occupied_at, A3, A4.
      - unfold mid2. rewrite N.eqb_refl. now rewrite andb_false_r.
      - intros i I. unfold mid2. destruct (N.eqb_spec (to m) i); [congruence|]. now rewrite andb_true_r. }
    assert (AT : arrow m <> to m).
    { destruct A5 as [->|_]; [congruence|]. destruct Lm as (_ & _ & _ & Li).
      eapply queen_line_other; eauto. }
    assert (M3 : count mid2 (squares w h) = Datatypes.S (open_squares (moved p m))).
    { unfold open_squares. apply count_one with (arrow m); auto using squares_nodup.
      - unfold mid2, mid. destruct Xa as [-> _]. destruct (N.eqb_spec (to m) (arrow m)); [congruence|].
        destruct A5 as [->|[A5 A6]]; [now rewrite N.eqb_refl, orb_true_r|].
        now rewrite occupied_at, A5, A6.
      - rewrite moved_occupied, N.eqb_refl by auto. simpl. apply andb_false_r.
      - intros i I. rewrite moved_occupied by auto. unfold mid2, mid.
        destruct (N.eqb_spec (arrow m) i); [congruence|].
        destruct (R i), (to m =? i), (occupied p @ i), (from m =? i); reflexivity. }
    lia.
Qed.

(** What a plod leaves as it was, whoever makes it: the walls of the region, and whose queens stand
    outside. *)
Lemma plod_keeps_walls (Q T F : square -> Prop) plan S v g s : held Q T F plan S v ->
  opp v g = true -> occupied v @ s = false ->
  (forall r x, on r -> R r = true -> touch r x -> R x = true \/ wb (plod v g s) @ x = true) /\
  (forall i, on i -> own (plod v g s) i = true -> R i = true).
Proof.
  intros H Pg Fs. split.
  - intros r x Or Rr Tr. unfold plod; simpl. rewrite setbit_at.
    destruct (h_wall _ _ _ _ _ _ H r x) as [X|X]; auto. rewrite X. right. apply orb_true_r.
  - intros i I O. rewrite plod_own in O by auto. now apply (h_own _ _ _ _ _ _ H).
Qed.

(** ** A plod of the plan *)
Lemma plan_plod Q T F g s rest S v : held Q T F ((g, s) :: rest) S v ->
  held (fun x => x = s \/ (Q x /\ x <> g)) (fun x => T x /\ x <> s) F rest S (plod v g s) /\
  open_squares (plod v g s) = open_squares v.
Proof.
  intros H. destruct (h_plan _ _ _ _ _ _ H) as (Qg & Ts & Tgs & Rest).
  destruct (h_Q _ _ _ _ _ _ H g Qg) as (Og & Pg). destruct (h_T _ _ _ _ _ _ H s Ts) as (Os & Fs & Rs).
  assert (NE : g <> s) by (apply not_eq_sym; eapply touch_other; eauto).
  destruct (plod_keeps_walls _ _ _ _ _ _ g s H) as [W Ow]; auto.
  split.
  - constructor; auto.
    + apply (h_col _ _ _ _ _ _ H).
    + intros x [->|[Qx N]].
      * split; auto. now apply plod_opp_new.
      * destruct (h_Q _ _ _ _ _ _ H x Qx). split; auto. now apply plod_opp.
    + intros x [Tx N]. destruct (h_T _ _ _ _ _ _ H x Tx) as (Ox & Fx & Rx). repeat split; auto.
      rewrite plod_occupied, Fx by auto. apply N.eqb_neq. congruence.
    + intros x Fx. destruct (h_F _ _ _ _ _ _ H x Fx) as (Ox & Px & Nx).
      assert (x <> g) by (intros ->; tauto). repeat split; auto; [now apply plod_opp|].
      intros [->|[Qx _]]; [|tauto]. unfold opp in Px. rewrite occupied_at in Fs.
      now destruct (wa v @ s), (wb v @ s).
    + intros k K. apply safe_stays with (F := F) (p := v); auto; [apply (h_col _ _ _ _ _ _ H)| |now apply (h_S _ _ _ _ _ _ H)].
      intros i I [Ri Ci]. split; [|now apply plod_own]. rewrite plod_occupied by auto.
      destruct (N.eqb_spec s i); [congruence|]. apply orb_false_r.
    + apply (h_nodup _ _ _ _ _ _ H).
  - unfold open_squares. apply count_ext. intros i I. rewrite plod_occupied by auto.
    destruct (N.eqb_spec s i) as [<-|]; [now rewrite Rs|]. now rewrite orb_false_r.
Qed.

(** ** A step of a free queen into an area *)
Lemma free_plod (Q T F : square -> Prop) plan S v k g s : held Q T F plan S v -> can_step F k v g s ->
  held Q T (fun x => F x /\ x <> g) plan (remove Nat.eq_dec k S) (plod v g s) /\
  open_squares v = Datatypes.S (open_squares (plod v g s)).
Proof.
  intros H (Fg & Cg & Tgs & Os & Rs & Cs & Fs). destruct (h_F _ _ _ _ _ _ H g Fg) as (Og & Pg & Ng).
  assert (NE : g <> s) by (apply not_eq_sym; eapply touch_other; eauto).
  destruct (plod_keeps_walls _ _ _ _ _ _ g s H) as [W Ow]; auto.
  split.
  - constructor; auto.
    + apply (h_col _ _ _ _ _ _ H).
    + apply (h_plan _ _ _ _ _ _ H).
    + intros x Qx. destruct (h_Q _ _ _ _ _ _ H x Qx). split; auto. apply plod_opp; auto. intros ->; tauto.
    + intros x Tx. destruct (h_T _ _ _ _ _ _ H x Tx) as (Ox & Fx & Rx). repeat split; auto.
      rewrite plod_occupied, Fx by auto. apply N.eqb_neq. congruence.
    + intros x [Fx N]. destruct (h_F _ _ _ _ _ _ H x Fx) as (Ox & Px & Nx). repeat split; auto.
      now apply plod_opp.
    + intros j J. apply in_remove in J as [J N].
      apply safe_stays with (F := F) (p := v); auto; [apply (h_col _ _ _ _ _ _ H)| | |now apply (h_S _ _ _ _ _ _ H)].
      * intros i I [Ri Ci]. split; [|now apply plod_own]. rewrite plod_occupied by auto.
        destruct (N.eqb_spec s i); [congruence|]. apply orb_false_r.
      * intros x Fx Cx. split; auto. congruence.
    + apply nodup_remove, (h_nodup _ _ _ _ _ _ H).
  - apply open_one with s; auto.
    + rewrite plod_occupied, N.eqb_refl by auto. apply orb_true_r.
    + intros i I. rewrite plod_occupied by auto. destruct (N.eqb_spec s i); [congruence|]. apply orb_false_r.
Qed.

(** The queen that has stepped may be free again, and its area may be safe. *)
Lemma held_again (Q T F : square -> Prop) plan S u k s : held Q T F plan S u ->
  on s -> opp u s = true -> ~ Q s -> ~ In k S -> safe_area (fun x => F x \/ x = s) k u ->
  held Q T (fun x => F x \/ x = s) plan (k :: S) u.
Proof.
  intros H Os Ps Qs NI Sa. constructor; try apply H.
  - intros x [Fx| ->]; [now apply (h_F _ _ _ _ _ _ H)|auto].
  - intros j [<-|J]; auto.
    apply safe_stays with (F := F) (p := u); auto; try apply H; auto.
  - constructor; auto. apply H.
Qed.

(** * P wins if it counts enough *)

Lemma remove_length S k : NoDup S -> In k S ->
  length S = Datatypes.S (length (remove Nat.eq_dec k S)).
Proof.
  induction S as [|x S IH]; intros ND I; [easy|]. inversion ND; subst. simpl.
  destruct (Nat.eq_dec k x) as [->|N].
  - now rewrite notin_remove.
  - destruct I as [->|I]; [easy|]. simpl. now rewrite <- IH.
Qed.

(** After this, O loses when it is to move (FORMAT.md, rules 2c and 3a): *)
Definition O_loses (n : nat) : Prop := forall Q T F plan S p, held Q T F plan S p ->
  (open_squares p <= n)%nat -> (open_squares p <= length plan + 2 * length S)%nat -> loses w h p.

(** With one more, P wins when it is to move. *)
Lemma P_moves n : O_loses n -> forall Q T F plan S v, held Q T F plan S v ->
  (open_squares v <= n)%nat -> (open_squares v + 1 <= length plan + 2 * length S)%nat -> wins w h (swap v).
Proof.
  intros OL Q T F plan S v H N Le. destruct plan as [|(g & s) rest].
  - destruct S as [|k S]; simpl in Le; [lia|].
    destruct (h_S _ _ _ _ _ _ H k (or_introl eq_refl)) as [(g & s & C) _].
    destruct (free_plod _ _ _ _ _ _ _ _ _ H C) as [H' E].
    pose proof (remove_length (k :: S) k (h_nodup _ _ _ _ _ _ H) (or_introl eq_refl)) as RL.
    destruct C as (Fg & Cg & Tgs & Os & Rs & Cs & Fs). destruct (h_F _ _ _ _ _ _ H g Fg) as (Og & Pg & _).
    apply plod_wins with g s; auto. eapply OL; [exact H'|lia|simpl in *; lia].
  - destruct (plan_plod _ _ _ _ _ _ _ _ H) as [H' E].
    destruct (h_plan _ _ _ _ _ _ H) as (Qg & Ts & Tgs & _).
    destruct (h_Q _ _ _ _ _ _ H g Qg) as (Og & Pg). destruct (h_T _ _ _ _ _ _ H s Ts) as (Os & Fs & Rs).
    apply plod_wins with g s; auto. eapply OL; [exact H'|lia|simpl in *; lia].
Qed.

Theorem hold n : O_loses n.
Proof.
  induction n as [|n IH]; intros Q T F plan S p H N Le; constructor; intros m Lm;
    destruct (O_moves _ _ _ _ _ _ _ H Lm) as [H' E]; [lia|].
  replace (play p m) with (swap (moved p m)) by apply swap_swap.
  destruct (in_dec Nat.eq_dec (col (from m)) S) as [I|I].
  - (* O has moved in a safe area: P answers there *)
    destruct (h_S _ _ _ _ _ _ H _ I) as [_ Next]. destruct (Next m Lm eq_refl) as (g & s & C).
    destruct (free_plod _ _ _ _ _ _ _ _ _ H' C) as [H'' E'].
    destruct C as (Fg & Cg & Tgs & Os & Rs & Cs & Fs). destruct (h_F _ _ _ _ _ _ H' g Fg) as (Og & Pg & _).
    apply plod_wins with g s; auto. eapply IH; [exact H''|lia|].
    pose proof (remove_length S _ (h_nodup _ _ _ _ _ _ H) I).
    rewrite (notin_remove Nat.eq_dec (remove _ _ _)) by (intro J; apply in_remove in J; tauto). lia.
  - eapply (P_moves n IH); [exact H'|lia|]. rewrite notin_remove by auto. lia.
Qed.

(** O to move (2c, 3a). *)
Theorem O_to_move Q T F plan S p : held Q T F plan S p ->
  (open_squares p <= length plan + 2 * length S)%nat -> loses w h p.
Proof. intros H Le. eapply hold; eauto. Qed.

(** P to move (2a, 3b). *)
Theorem P_to_move Q T F plan S v : held Q T F plan S v ->
  (open_squares v + 1 <= length plan + 2 * length S)%nat -> wins w h (swap v).
Proof. intros H Le. eapply P_moves; eauto. apply hold. Qed.

(** P begins with a step of a free queen into an area (2b, 3c). *)
Theorem P_steps Q T F plan S v k g s : held Q T F plan S v -> can_step F k v g s ->
  (open_squares v <= 1 + length plan + 2 * length (remove Nat.eq_dec k S))%nat -> wins w h (swap v).
Proof.
  intros H C Le. destruct (free_plod _ _ _ _ _ _ _ _ _ H C) as [H' E].
  destruct C as (Fg & Cg & Tgs & Os & Rs & Cs & Fs). destruct (h_F _ _ _ _ _ _ H g Fg) as (Og & Pg & _).
  apply plod_wins with g s; auto. eapply O_to_move; [exact H'|lia].
Qed.

(** The same, where the area is safe afterwards (3d). *)
Theorem P_steps_safely Q T F plan S v k g s : held Q T F plan S v -> can_step F k v g s ->
  safe_area (fun x => (F x /\ x <> g) \/ x = s) k (plod v g s) ->
  (open_squares v <= 3 + length plan + 2 * length (remove Nat.eq_dec k S))%nat -> wins w h (swap v).
Proof.
  intros H C Sa Le. destruct (free_plod _ _ _ _ _ _ _ _ _ H C) as [H' E].
  destruct C as (Fg & Cg & Tgs & Os & Rs & Cs & Fs). destruct (h_F _ _ _ _ _ _ H g Fg) as (Og & Pg & _).
  apply plod_wins with g s; auto.
  eapply O_to_move; [eapply held_again with (k := k) (s := s); [exact H'|auto| | | |exact Sa]|simpl; lia].
  - apply plod_opp_new; auto. apply not_eq_sym; eapply touch_other; eauto.
  - intro Qs. destruct (h_Q _ _ _ _ _ _ H s Qs) as [_ P]. unfold opp in P. rewrite occupied_at in Fs.
    now destruct (wa v @ s), (wb v @ s).
  - intro J. apply in_remove in J. tauto.
Qed.

End Strategy.
