(** The game of Amazons on a board of [w] files and [h] ranks.

    The rules stand in deploy/docs/GAME.md. This file says them once as a relation, [legal], for a
    reader to believe, and once as a program, [moves], for a machine to run; [moves_legal] proves
    that the two agree. [wins] and [loses] say who wins with best play, and [determined] that every
    position has exactly one winner. *)

From Coq Require Import NArith List Bool Lia Arith FinFun.
Import ListNotations.
Open Scope N_scope.

(** * The board *)

(** A square is its number, as FORMAT.md says:

    FORMAT> Square number `i = W*(rank-1) + (file-1)`, so A1 is
    FORMAT> 0, B1 is 1, and the top right corner is `W*H-1`. *)
Definition square := N.

(** One step along a file or a rank: down, not at all, up. *)
Inductive step := Down | Stay | Up.

(** A direction is a step in the files and a step in the ranks. *)
Definition direction := (step * step)%type.
Definition directions : list direction :=
  [(Down, Down); (Stay, Down); (Up, Down); (Down, Stay); (Up, Stay); (Down, Up); (Stay, Up); (Up, Up)].

Definition shift (s : step) (side x : N) : option N :=
  match s with
  | Down => if x =? 0 then None else Some (x - 1)
  | Stay => Some x
  | Up => if x + 1 <? side then Some (x + 1) else None
  end.

(** The square one step from [i], if the board has one there. *)
Definition next (w h : N) (d : direction) (i : square) : option square :=
  match shift (fst d) w (i mod w), shift (snd d) h (i / w) with
  | Some x, Some y => Some (w * y + x)
  | _, _ => None
  end.

Definition squares (w h : N) : list square := map N.of_nat (seq 0 (N.to_nat (w * h))).

(** The sides that FORMAT.md allows: 1 to 8. *)
Definition sides : list N := [1; 2; 3; 4; 5; 6; 7; 8].
Definition board_ok (w h : N) : bool := existsb (N.eqb w) sides && existsb (N.eqb h) sides.

(** * Positions and moves *)

(** A position is two words of bits, seen by the side to move, as in the table of FORMAT.md:

    FORMAT> | empty | 0 | 0 |
    FORMAT> | own queen | 1 | 0 |
    FORMAT> | opponent queen | 0 | 1 |
    FORMAT> | burnt | 1 | 1 | *)
Record position := Pos { wa : N; wb : N }.

Notation "s @ i" := (N.testbit s i) (at level 30, no associativity).

Definition own (p : position) (i : square) : bool := wa p @ i && negb (wb p @ i).
Definition opp (p : position) (i : square) : bool := negb (wa p @ i) && wb p @ i.
Definition burnt (p : position) (i : square) : bool := wa p @ i && wb p @ i.
Definition occupied (p : position) : N := N.lor (wa p) (wb p).

Record move := Move { from : square; to : square; arrow : square }.

(** The position after a move, seen by the other side, which is then to move. *)
Definition play (p : position) (m : move) : position :=
  Pos (N.setbit (wb p) (arrow m))
      (N.setbit (N.setbit (N.clearbit (wa p) (from m)) (to m)) (arrow m)).

Section Rules.
Variables w h : N.

Definition on (i : square) : Prop := In i (squares w h).

(** A queen or an arrow goes in one direction, a square or more, and never over an occupied one. *)
Inductive line (occ : N) (d : direction) : square -> square -> Prop :=
| line_one s t : next w h d s = Some t -> occ @ t = false -> line occ d s t
| line_more s t u : next w h d s = Some t -> occ @ t = false -> line occ d t u -> line occ d s u.

Definition queen_line (occ : N) (s t : square) : Prop := exists d, In d directions /\ line occ d s t.

(** A move: a queen of the side to move goes along a line, then shoots along a line. The square
    that the queen left is empty by then. *)
Definition legal (p : position) (m : move) : Prop :=
  on (from m) /\ own p (from m) = true /\
  queen_line (occupied p) (from m) (to m) /\
  queen_line (N.clearbit (occupied p) (from m)) (to m) (arrow m).

(** The side to move wins if it has a move after which the other side loses. It loses if each of
    its moves, perhaps none, leads to a position that the other side wins. *)
Inductive wins : position -> Prop :=
| wins_by p m : legal p m -> loses (play p m) -> wins p
with loses : position -> Prop :=
| loses_all p : (forall m, legal p m -> wins (play p m)) -> loses p.

End Rules.

Scheme wins_mut := Induction for wins Sort Prop
with loses_mut := Induction for loses Sort Prop.

(** * Facts about the geometry, computed for each of the 64 boards *)

(** The squares from [s] to the edge. *)
Fixpoint ray (fuel : nat) (w h : N) (d : direction) (s : square) : list square :=
  match fuel with
  | O => []
  | S n => match next w h d s with Some t => t :: ray n w h d t | None => [] end
  end.
Definition rays (w h : N) (s : square) : list (list square) := map (fun d => ray 8 w h d s) directions.

Fixpoint list_eqb (x y : list N) : bool :=
  match x, y with
  | [], [] => true
  | a :: x', b :: y' => (a =? b) && list_eqb x' y'
  | _, _ => false
  end.

Lemma list_eqb_eq x y : list_eqb x y = true -> x = y.
Proof.
  revert y; induction x; destruct y; simpl; intros; try easy.
  apply andb_prop in H as [H1 H2]. apply N.eqb_eq in H1. f_equal; auto.
Qed.

Definition opposite (s : step) : step := match s with Down => Up | Stay => Stay | Up => Down end.
Definition back (d : direction) : direction := (opposite (fst d), opposite (snd d)).

Definition option_eqb (x y : option N) : bool :=
  match x, y with Some a, Some b => a =? b | None, None => true | _, _ => false end.

Lemma option_eqb_eq x y : option_eqb x y = true -> x = y.
Proof. destruct x, y; simpl; intros; try easy. apply N.eqb_eq in H. now subst. Qed.

(** A ray is one step and the ray from there (so 8 steps are enough); a step stays on the board,
    can be taken back, and never comes back by itself. *)
Definition geometry_at (w h : N) (d : direction) (s : square) : bool :=
  match next w h d s with
  | None => list_eqb (ray 8 w h d s) []
  | Some t => list_eqb (ray 8 w h d s) (t :: ray 8 w h d t) && (t <? w * h)
              && option_eqb (next w h (back d) t) (Some s) && negb (existsb (N.eqb s) (t :: ray 8 w h d t))
  end.

Definition on_all_boards (f : N -> N -> bool) : bool :=
  forallb (fun w => forallb (fun h => f w h) sides) sides.

Lemma all_boards f w h : on_all_boards f = true -> board_ok w h = true -> f w h = true.
Proof.
  unfold on_all_boards, board_ok. intros H B. apply andb_prop in B as [B1 B2].
  apply existsb_exists in B1 as (x & I & E). apply N.eqb_eq in E; subst x.
  apply existsb_exists in B2 as (y & J & E). apply N.eqb_eq in E; subst y.
  rewrite forallb_forall in H. specialize (H _ I). cbv beta in H. rewrite forallb_forall in H. auto.
Qed.

Lemma geometry_all : on_all_boards (fun w h =>
  forallb (fun s => forallb (fun d => geometry_at w h d s) directions) (squares w h)) = true.
Proof. vm_compute. reflexivity. Qed.

Lemma in_squares w h i : In i (squares w h) <-> i < w * h.
Proof.
  unfold squares. rewrite in_map_iff. split.
  - intros (n & <- & I). apply in_seq in I. lia.
  - intro L. exists (N.to_nat i). split; [lia | apply in_seq; lia].
Qed.

Lemma squares_nodup w h : NoDup (squares w h).
Proof. unfold squares. apply FinFun.Injective_map_NoDup; [intros x y; lia | apply seq_NoDup]. Qed.

Section Geometry.
Variables w h : N.
Hypothesis B : board_ok w h = true.

Lemma geometry d s : In d directions -> on w h s -> geometry_at w h d s = true.
Proof.
  intros D S. pose proof (all_boards _ _ _ geometry_all B) as H. cbv beta in H.
  rewrite forallb_forall in H. specialize (H _ S). cbv beta in H. rewrite forallb_forall in H. auto.
Qed.

Lemma next_on d s t : In d directions -> on w h s -> next w h d s = Some t -> on w h t.
Proof.
  intros D S E. pose proof (geometry d s D S) as G. unfold geometry_at in G. rewrite E in G.
  apply in_squares. apply andb_prop in G as [G _]. apply andb_prop in G as [G _].
  apply andb_prop in G as [_ G]. now apply N.ltb_lt.
Qed.

Lemma next_back d s t : In d directions -> on w h s -> next w h d s = Some t -> next w h (back d) t = Some s.
Proof.
  intros D S E. pose proof (geometry d s D S) as G. unfold geometry_at in G. rewrite E in G.
  apply andb_prop in G as [G _]. apply andb_prop in G as [_ G]. now apply option_eqb_eq.
Qed.

Lemma next_other d s t : In d directions -> on w h s -> next w h d s = Some t -> t <> s.
Proof.
  intros D S E. pose proof (geometry d s D S) as G. unfold geometry_at in G. rewrite E in G.
  apply andb_prop in G as [_ G]. intros ->. simpl in G. now rewrite N.eqb_refl in G.
Qed.

Lemma back_in d : In d directions -> In (back d) directions.
Proof. simpl. intuition (subst; simpl; auto 10). Qed.

Lemma ray_next d s : In d directions -> on w h s ->
  ray 8 w h d s = match next w h d s with Some t => t :: ray 8 w h d t | None => [] end.
Proof.
  intros D S. pose proof (geometry d s D S) as G. unfold geometry_at in G.
  destruct (next w h d s).
  - apply andb_prop in G as [G _]. apply andb_prop in G as [G _]. apply andb_prop in G as [G _].
    now apply list_eqb_eq in G.
  - now apply list_eqb_eq in G.
Qed.

(** * The moves as a program *)

Lemma line_on occ d s t : In d directions -> on w h s -> line w h occ d s t -> on w h t.
Proof. intros D S L. induction L; eauto using next_on. Qed.

End Geometry.

(** The squares of a ray up to the first occupied one. *)
Fixpoint sweep (occ : N) (l : list square) : list square :=
  match l with
  | [] => []
  | t :: l' => if occ @ t then [] else t :: sweep occ l'
  end.

(** [lines s] are the rays from [s]; the program gets them from a table. *)
Definition reach (lines : square -> list (list square)) (occ : N) (s : square) : list square :=
  flat_map (sweep occ) (lines s).

Definition moves (sqs : list square) (lines : square -> list (list square)) (p : position) : list move :=
  let occ := occupied p in
  flat_map (fun f =>
    if own p f then
      let occ' := N.clearbit occ f in
      flat_map (fun t => map (Move f t) (reach lines occ' t)) (reach lines occ f)
    else []) sqs.

Section Moves.
Variables w h : N.
Hypothesis B : board_ok w h = true.
Variable lines : square -> list (list square).
Hypothesis L : forall s, on w h s -> lines s = rays w h s.

Lemma sweep_line occ d s t : In d directions -> on w h s ->
  In t (sweep occ (ray 8 w h d s)) <-> line w h occ d s t.
Proof.
  intros D S. split.
  - intro I. remember (ray 8 w h d s) as l eqn:E. revert s S E.
    induction l as [|x l IH]; intros s S E; simpl in I; [easy|].
    rewrite (ray_next w h B d s D S) in E. destruct (next w h d s) as [y|] eqn:Y; [|easy].
    injection E as -> E. destruct (occ @ y) eqn:O; [easy|]. destruct I as [<-|I].
    + now constructor.
    + eapply line_more; eauto. apply IH; auto. eauto using next_on.
  - intro I. induction I as [s t E O|s t u E O I IH]; rewrite (ray_next w h B d s D S), E; simpl; rewrite O.
    + now left.
    + right. apply IH. eauto using next_on.
Qed.

Lemma reach_line occ s t : on w h s -> In t (reach lines occ s) <-> queen_line w h occ s t.
Proof.
  intro S. unfold reach, queen_line. rewrite (L s S), in_flat_map. unfold rays. split.
  - intros (l & I & J). apply in_map_iff in I as (d & <- & D). exists d. split; auto. now apply sweep_line.
  - intros (d & D & J). exists (ray 8 w h d s). split; [now apply (in_map (fun d => ray 8 w h d s))|]. now apply sweep_line.
Qed.

Lemma queen_line_other occ s t : on w h s -> queen_line w h occ s t -> t <> s.
Proof.
  intros S (d & D & Q). apply sweep_line in Q; auto.
  assert (I : In t (ray 8 w h d s)).
  { revert Q. generalize (ray 8 w h d s). induction l as [|x l IH]; simpl; auto.
    destruct (occ @ x); [easy|]. intros [<-|]; auto. }
  pose proof (geometry w h B d s D S) as G. unfold geometry_at in G.
  rewrite (ray_next w h B d s D S) in I. destruct (next w h d s) as [x|]; [|easy].
  apply andb_prop in G as [_ G]. apply negb_true_iff in G. intros ->.
  assert (X : existsb (N.eqb s) (x :: ray 8 w h d x) = true); [|congruence].
  apply existsb_exists. exists s. split; auto. apply N.eqb_refl.
Qed.

Lemma queen_line_on occ s t : on w h s -> queen_line w h occ s t -> on w h t.
Proof. intros S (d & D & J). eauto using line_on. Qed.

(** The list of moves has each legal move, and no other. *)
Theorem moves_legal p m : In m (moves (squares w h) lines p) <-> legal w h p m.
Proof.
  unfold moves, legal. rewrite in_flat_map. split.
  - intros (f & F & I). destruct (own p f) eqn:O; [|easy]. rewrite in_flat_map in I.
    destruct I as (t & T & I). apply in_map_iff in I as (c & <- & C). simpl.
    apply reach_line in T; auto. repeat split; auto.
    apply reach_line in C; auto. eauto using queen_line_on.
  - intros (F & O & T & C). exists (from m). split; auto. rewrite O. rewrite in_flat_map.
    exists (to m). split; [now apply reach_line|]. apply in_map_iff. exists (arrow m).
    split; [now destruct m|]. apply reach_line; auto. eauto using queen_line_on.
Qed.

End Moves.

(** * Every game ends, and each position has one winner *)

Definition count (f : square -> bool) (l : list square) : nat := length (filter f l).

Lemma count_ext f g l : (forall i, In i l -> f i = g i) -> count f l = count g l.
Proof.
  unfold count. induction l; simpl; intros; auto.
  rewrite <- (H a) by auto. destruct (f a); simpl; auto.
Qed.

(** Two sets that differ in one square. *)
Lemma count_one f g l x : NoDup l -> In x l -> f x = true -> g x = false ->
  (forall i, i <> x -> f i = g i) -> count f l = S (count g l).
Proof.
  intros ND I F G E. unfold count. induction l as [|a l IH]; [easy|].
  inversion ND; subst. simpl. destruct I as [->|I].
  - rewrite F, G. simpl. f_equal. apply count_ext. intros i J. apply E. now intros ->.
  - rewrite <- (E a) by now intros ->. destruct (f a); simpl; rewrite IH; auto.
Qed.

(** FORMAT> Its *layer* is the number of burnt squares, so every move
    FORMAT> adds one. *)
Definition arrows (w h : N) (p : position) : nat := count (burnt p) (squares w h).

Lemma setbit_at x i j : N.setbit x i @ j = (i =? j) || x @ j.
Proof. apply N.setbit_eqb. Qed.
Lemma clearbit_at x i j : N.clearbit x i @ j = x @ j && negb (i =? j).
Proof. apply N.clearbit_eqb. Qed.
Lemma occupied_at p i : occupied p @ i = wa p @ i || wb p @ i.
Proof. apply N.lor_spec. Qed.

Section Determined.
Variables w h : N.
Hypothesis B : board_ok w h = true.

Lemma line_free occ d s t : line w h occ d s t -> occ @ t = false.
Proof. induction 1; auto. Qed.

(** What a legal move does, square by square. *)
Lemma legal_facts p m : legal w h p m ->
  on w h (from m) /\ on w h (to m) /\ on w h (arrow m) /\
  wa p @ from m = true /\ wb p @ from m = false /\
  wa p @ to m = false /\ wb p @ to m = false /\ 
  (arrow m = from m \/ (wa p @ arrow m = false /\ wb p @ arrow m = false)).
Proof.
  intros (F & O & T & C). unfold own in O. apply andb_prop in O as [O1 O2].
  apply negb_true_iff in O2.
  assert (on w h (to m)) by eauto using queen_line_on.
  assert (on w h (arrow m)) by eauto using queen_line_on.
  destruct T as (d & D & T). apply line_free in T. rewrite occupied_at in T.
  apply orb_false_iff in T as [T1 T2].
  destruct C as (e & D' & C). apply line_free in C. rewrite clearbit_at, occupied_at in C.
  repeat split; auto.
  destruct (N.eqb_spec (from m) (arrow m)) as [->|]; [now left|right].
  simpl in C. rewrite andb_true_r in C. now apply orb_false_iff in C.
Qed.

Lemma play_arrows p m : legal w h p m -> arrows w h (play p m) = S (arrows w h p).
Proof.
  intro Lm. destruct (legal_facts p m Lm) as (F & T & C & A1 & A2 & A3 & A4 & A5).
  unfold arrows. apply count_one with (x := arrow m); auto using squares_nodup; unfold burnt, play; simpl.
  - now rewrite !setbit_at, N.eqb_refl.
  - destruct A5 as [->|[-> ->]]; [now rewrite A1, A2|reflexivity].
  - intros i I. rewrite !setbit_at, clearbit_at.
    destruct (N.eqb_spec (arrow m) i) as [<-|]; [easy|]. simpl.
    destruct (N.eqb_spec (to m) i) as [<-|]; simpl; [now rewrite A4, A3|].
    destruct (N.eqb_spec (from m) i) as [<-|]; simpl; [now rewrite A2, andb_false_r, andb_false_r|].
    rewrite andb_true_r. apply andb_comm.
Qed.

Lemma arrows_most p : (arrows w h p <= length (squares w h))%nat.
Proof.
  unfold arrows, count. induction (squares w h) as [|x l IH]; simpl; [lia|].
  destruct (burnt p x); simpl; lia.
Qed.

(** How many moves a game can still last. *)
Definition room (p : position) : nat := length (squares w h) - arrows w h p.

Lemma play_room p m : legal w h p m -> (room (play p m) < room p)%nat.
Proof.
  intro Lm. pose proof (play_arrows p m Lm). pose proof (arrows_most (play p m)). unfold room. lia.
Qed.

Lemma not_both p : wins w h p -> loses w h p -> False.
Proof.
  remember (room p) as n eqn:E. revert p E. induction n as [n IH] using lt_wf_ind. intros p -> W Lo.
  inversion W; subst. inversion Lo; subst. specialize (H1 m H).
  eapply IH; [apply play_room; eauto|reflexivity|eauto|eauto].
Qed.

Lemma one_of_both p : wins w h p \/ loses w h p.
Proof.
  remember (room p) as n eqn:E. revert p E. induction n as [n IH] using lt_wf_ind. intros p ->.
  assert (X : forall l, (forall m, In m l -> legal w h p m) ->
    (exists m, In m l /\ loses w h (play p m)) \/ (forall m, In m l -> wins w h (play p m))).
  { induction l as [|m l IHl]; intro A; [now right|].
    destruct IHl as [(m' & I & Lo)|All]; [intros; apply A; now right|left; exists m'; simpl; auto|].
    destruct (IH _ (play_room p m (A m (or_introl eq_refl))) _ eq_refl) as [W|Lo].
    - right. intros m' [<-|I]; auto.
    - left. exists m. simpl; auto. }
  destruct (X (moves (squares w h) (rays w h) p)) as [(m & I & Lo)|All].
  - intros m I. eapply moves_legal; eauto.
  - left. econstructor; eauto. eapply moves_legal; eauto.
  - right. constructor. intros m Lm. apply All. eapply moves_legal; eauto.
Qed.

(** Each position is won by one side, and by one only. *)
Theorem determined p : (wins w h p \/ loses w h p) /\ ~ (wins w h p /\ loses w h p).
Proof. split; [apply one_of_both|]. intros [W Lo]. eapply not_both; eauto. Qed.

End Determined.
