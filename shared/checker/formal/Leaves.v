(** The leaf rules as programs, and the theorem of each.

    Rule 1 needs no program of its own: a side without a move loses by the definition of [loses].

    FORMAT> **Rule 1.** The side to move has no legal move: lost.

    FORMAT> **Rule 2, the counting lemma** (Müller 2001, sections 2.1 to 2.3, in its plainest form; the blocker
    FORMAT> constraint of Song and Müller 2014 is why a plod may start from a blocker: the origin is burnt, so
    FORMAT> nothing opens). It is always applied to the *canonical* form of a position, so that ties are broken
    FORMAT> the same way by every implementation. Two squares are neighbours if they touch, diagonally too. Let
    FORMAT> `E` be the empty squares, `P` one side, `O` the other.

    FORMAT> **Rule 3, the sum of areas** (Song and Müller 2014, section IV; the safe move: Müller 2001, section
    FORMAT> 2.3.2). Like rule 2 it is applied to the canonical form, and `P`, `O`, `C`, `T` and `walk` are those
    FORMAT> of rule 2. Here `C` falls into areas, and P counts moves that it is sure of there.

    (Checker.v applies them to canonical forms. The theorems hold for any form.)

    Rules 2 and 3 look at a position in which the side O is to move or has just been passed over, so
    that O's queens are the position's own queens and P's are the opponent's. Where P is to move,
    they look at [swap p]. Strategy.v has the argument; here the programs are shown to count what
    the argument needs. *)

From Coq Require Import NArith List Bool Lia Arith.
Import ListNotations.
Require Import Game Strategy.
Open Scope N_scope.

(** * Programs *)

Section Programs.
Variables w h : N.
Variable lines : square -> list (list square).     (** the rays from a square *)
Variable near : square -> list square.             (** its neighbours, in increasing order *)
Let sqs := squares w h.
Let size := N.to_nat (w * h).

Definition members (x : N) : list square := filter (N.testbit x) sqs.
Definition card (x : N) : nat := count (N.testbit x) sqs.
Definition set_all (l : list square) (x : N) : N := fold_left N.setbit l x.
Definition clear_all (l : list square) (x : N) : N := fold_left N.clearbit l x.

(** The squares of [free] that steps between neighbours reach from the squares of [todo], with those
    that are [reached] already. None: it took more than [fuel] steps, which never happens. *)
Fixpoint flood (fuel : nat) (todo : list square) (reached free : N) : option N :=
  match fuel with
  | O => None
  | S fuel' =>
    match todo with
    | [] => Some reached
    | x :: todo' =>
      let new := filter (N.testbit free) (near x) in
      flood fuel' (new ++ todo') (set_all new reached) (clear_all new free)
    end
  end.
Definition flood_fuel : nat := S (S (size + size)).

(** ** The walk *)

(** The square to which a walking queen goes on:

    FORMAT> Each queen in turn walks: from the square
    FORMAT> it stands on, among the neighbours in `T` that no queen has visited yet, it steps to the one that
    FORMAT> has the fewest unvisited neighbours in `T` (the square itself is not counted; ties: smallest
    FORMAT> square number), marks it visited, counts one, and goes on from there until no unvisited neighbour
    FORMAT> is left. *)
Definition around (unvisited : N) (s : square) : nat := count (N.testbit unvisited) (near s).

Fixpoint fewest (unvisited : N) (l : list square) (best : square) (n : nat) : square :=
  match l with
  | [] => best
  | s :: l' => let k := around unvisited s in
               if (k <? n)%nat then fewest unvisited l' s k else fewest unvisited l' best n
  end.

Definition walk_step (unvisited : N) (at_ : square) : option square :=
  match filter (N.testbit unvisited) (near at_) with
  | [] => None
  | s :: l => Some (fewest unvisited l s (around unvisited s))
  end.

(** The walk of one queen: its plods, and what is unvisited then. *)
Fixpoint walk_one (fuel : nat) (at_ : square) (unvisited : N) : nat * N :=
  match fuel with
  | O => (O, unvisited)
  | S fuel' =>
    match walk_step unvisited at_ with
    | None => (O, unvisited)
    | Some s => let (n, u) := walk_one fuel' s (N.clearbit unvisited s) in (S n, u)
    end
  end.

(** The walk of several queens: the plods, and the queens that make one. *)
Fixpoint walk_list (queens : list square) (unvisited : N) : nat * list square :=
  match queens with
  | [] => (O, [])
  | q :: rest =>
    let (n, u) := walk_one size q unvisited in
    let (m, walked) := walk_list rest u in
    ((n + m)%nat, match n with O => walked | S _ => q :: walked end)
  end.

Definition touching (c : N) (q : square) : bool := existsb (N.testbit c) (near q).

(** FORMAT> - `walk(S)` for a set S of P's queens is a number of plods that P can certainly make inside T, found
    FORMAT>   greedily: take first the queens of S that have no neighbour in `C`, in increasing square number,
    FORMAT> then the other queens of S, in increasing square number. *)
Definition walk (c t : N) (queens : list square) : nat * list square :=
  walk_list (filter (fun q => negb (touching c q)) queens ++ filter (touching c) queens) t.

(** ** What the rules look at *)

Definition own_set (p : position) : N := N.ldiff (wa p) (wb p).
Definition empty_set (p : position) : N := N.ldiff (N.ones (w * h)) (occupied p).

(** FORMAT> `C` = the empty squares that can be reached from O's queens by steps between neighbours over empty
    FORMAT> squares (8-connected flood; queens of either side stop it). `N` = the number of squares of `C`. *)
Definition c_set (p : position) : option N := flood flood_fuel (members (own_set p)) 0 (empty_set p).

(** FORMAT> `T = E \ C`: squares O can never enter while P's queens only plod. *)
Definition t_set (p : position) (c : N) : N := N.ldiff (empty_set p) c.

Definition p_queens (p : position) : list square := members (own_set (swap p)).

(** ** Rule 2 *)

(** FORMAT> `P` has the last move, and so wins, if one of these holds:

    FORMAT> **2c, O to move:** `walk(all queens of P) >= N`. *)
Definition rule_2c (p : position) : bool :=
  match c_set p with
  | None => false
  | Some c => (card c <=? fst (walk c (t_set p c) (p_queens p)))%nat
  end.

(** FORMAT> **2a, P to move:** `walk(all queens of P) >= N + 1`. *)
Definition rule_2a (p : position) : bool :=
  match c_set p with
  | None => false
  | Some c => (card c + 1 <=? fst (walk c (t_set p c) (p_queens p)))%nat
  end.

Definition without (q : square) (l : list square) : list square := filter (fun x => negb (x =? q)) l.

(** FORMAT> **2b, P to move:** P has a queen q with a neighbour in `C`, and `walk(all queens of P but q) + 1
    FORMAT> >= N`. Here q makes the first move: it steps into `C` and shoots back at the square it came from.
    FORMAT> The move takes one square from O, and it is one move of P. `C`, `T` and `N` are those of the
    FORMAT> position *before* that move; they are not computed again after it. Any such q will do. *)
Definition rule_2b (p : position) : bool :=
  match c_set p with
  | None => false
  | Some c =>
    let t := t_set p c in
    existsb (fun q => touching c q && (card c <=? fst (walk c t (without q (p_queens p))) + 1)%nat) (p_queens p)
  end.

(** ** Rule 3 *)

(** An area of C, with what is in it: P's free queens, O's queens, squares of C.

    FORMAT> - A has a *safe move* if P can step whatever O does first: a free queen of A has a neighbour among
    FORMAT>   its squares of `C`; and after each move of a queen of O inside A, a free queen of A has an empty
    FORMAT>   square of A as a neighbour. (Inside A: queen and arrow go over squares of `C` in A and the square
    FORMAT>   that the queen left. Empty are then the squares of `C` in A and the square that the queen left,
    FORMAT>   without those where queen and arrow ended.) *)
Definition safe (mine theirs empty : N) : bool :=
  let steps := flat_map near (members mine) in
  existsb (N.testbit empty) steps &&
  let occ := N.ldiff (N.ones (w * h)) empty in
  forallb (fun q =>
    let left := fun s => empty @ s || (s =? q) in
    let occ' := N.clearbit occ q in
    let steps' := filter left steps in
    forallb (fun t => forallb (fun c => existsb (fun s => negb (s =? t) && negb (s =? c)) steps')
      (reach lines occ' t)) (reach lines occ q)) (members theirs).

(** The areas of C, as sets of squares:

    FORMAT> - The squares of `C`, O's queens and the free queens fall into *areas*: two of them belong together
    FORMAT>   if steps between neighbours lead from one to the other over squares and queens of these three
    FORMAT>   kinds. Areas without a square of `C` do not count. `n(A)` is the number of squares of `C` in A. *)
Fixpoint areas (fuel : nat) (domain rest : N) : option (list N) :=
  match fuel with
  | O => None
  | S fuel' =>
    match find (N.testbit rest) sqs with
    | None => Some []
    | Some x =>
      match flood flood_fuel [x] (N.setbit 0 x) (N.clearbit domain x) with
      | None => None
      | Some a =>
        match areas fuel' (N.ldiff domain a) (N.ldiff rest a) with
        | None => None
        | Some l => Some (a :: l)
        end
      end
    end
  end.

(** Each area with a number of its own. *)
Fixpoint numbered (l : list N) : list (nat * N) :=
  match l with
  | [] => []
  | a :: l' => (S (length l'), a) :: numbered l'
  end.

Definition area_safe (p : position) (c free a : N) : bool :=
  safe (N.land a free) (N.land a (own_set p)) (N.land a c).

Definition safe_numbers (p : position) (c free : N) (l : list N) : list nat :=
  map fst (filter (fun ka => area_safe p c free (snd ka)) (numbered l)).

(** Rule 3 for one set S of queens.

    FORMAT> - `w = walk(S)`. A queen of P is *free* if it has a neighbour in `C` and makes no plod in that walk;
    FORMAT>   the queen that is not in S is free.

    FORMAT.md adds up areas:

    FORMAT> - `v(A) = 2 - n(A)` if A has a safe move, otherwise `-n(A)`. `V` is the sum of all `v(A)`.

    The areas share the squares of C out among them, so the n(A) add up to N, and V is twice the
    number of safe areas less N. In this form, with nothing below zero:

    FORMAT> - **3a, O to move:** `w + V >= 0`.
    FORMAT> - **3b, P to move:** `w + V >= 1`.
    FORMAT> - **3c, P to move:** for an area A with a free queen, `w + V - v(A) + 1 - n(A) >= 0`. P begins with a
    FORMAT>   step of that queen into A and shoots back at the square it came from.
    FORMAT> - **3d, P to move:** for an area A, a free queen q in it and a square s of `C` in A next to q, A has a
    FORMAT>   safe move when q stands on s and the square it left is burnt, and `w + V - v(A) + 3 - n(A) >= 0`. *)
Definition sum_of (begins : bool) (p : position) (c t : N) (queens : list square) : bool :=
  let (plods, walked) := walk c t queens in
  let free := set_all (filter (fun q => touching c q && negb (existsb (N.eqb q) walked)) (p_queens p)) 0 in
  match areas (S size) (N.lor c (N.lor (own_set p) free)) c with
  | None => false
  | Some l =>
    let n := card c in
    let ids := safe_numbers p c free l in
    if begins then
      (n + 1 <=? plods + 2 * length ids)%nat ||
      existsb (fun ka : nat * N =>
        let (k, a) := ka in
        let others := length (remove Nat.eq_dec k ids) in
        (n <=? 3 + plods + 2 * others)%nat &&
        existsb (fun g => existsb (fun s =>
          N.land a c @ s &&
          ((n <=? 1 + plods + 2 * others)%nat ||
           safe (N.setbit (N.clearbit (N.land a free) g) s) (N.land a (own_set p)) (N.clearbit (N.land a c) s)))
          (near g)) (members (N.land a free))) (numbered l)
    else (n <=? plods + 2 * length ids)%nat
  end.

(** FORMAT> Rule 3 holds if it
    FORMAT> holds for a set S of P's queens: all of them, or all but one queen that has a neighbour in `C` and
    FORMAT> makes at least one plod in `walk(all queens of P)`. For a set S: *)
Definition rule_3 (begins : bool) (p : position) : bool :=
  match c_set p with
  | None => false
  | Some c =>
    let t := t_set p c in
    let queens := p_queens p in
    (* not even with a plod for each square of T, and a safe move for each queen *)
    if (card t + 2 * length (filter (touching c) queens) + (if begins then 1 else 0) <? card c)%nat then false
    else sum_of begins p c t queens ||
         existsb (fun q => touching c q && sum_of begins p c t (without q queens)) (snd (walk c t queens))
  end.

(** FORMAT> So with own to move: *won* if 2a, 2b, 3b, 3c or 3d holds with P = own, *lost* if own has no move, or
    FORMAT> 2c or 3a holds with P = opponent. Rule 1 is looked at first. *)
Definition leaf_won (n_rules : N) (p : position) : bool :=
  let q := swap p in
  ((2 <=? n_rules) && (rule_2a q || rule_2b q)) || ((3 <=? n_rules) && rule_3 true q).
Definition leaf_lost (n_rules : N) (p : position) : bool :=
  ((2 <=? n_rules) && rule_2c p) || ((3 <=? n_rules) && rule_3 false p).

End Programs.

(** The neighbours of a square, in increasing order. *)
Definition neighbours (w h : N) (i : square) : list square :=
  filter (fun j => existsb (fun d => match next w h d i with Some t => t =? j | None => false end) directions)
    (squares w h).

(** * Proofs *)

Section Proofs.
Variables w h : N.
Hypothesis B : board_ok w h = true.
Variable lines : square -> list (list square).
Hypothesis L : forall s, on w h s -> lines s = rays w h s.
Variable near : square -> list square.
Hypothesis Nr : forall s, on w h s -> near s = neighbours w h s.
Notation on := (on w h).
Notation touch := (touch w h).

Lemma near_touch i j : on i -> In j (near i) <-> touch i j.
Proof.
  intro I. rewrite (Nr i I). unfold neighbours. rewrite filter_In. split.
  - intros [J E]. apply existsb_exists in E as (d & D & E). exists d. split; auto.
    destruct (next w h d i); [|easy]. apply N.eqb_eq in E. now subst.
  - intros (d & D & E). split; [eapply touch_on; eauto; exists d; auto|].
    apply existsb_exists. exists d. split; auto. rewrite E. apply N.eqb_refl.
Qed.

Lemma near_on i j : on i -> In j (near i) -> on j.
Proof. intros I J. apply near_touch in J; auto. eauto using touch_on. Qed.

Lemma members_in x i : In i (members w h x) <-> on i /\ x @ i = true.
Proof. unfold members. apply filter_In. Qed.

Lemma set_all_at l : forall x i, set_all l x @ i = true <-> In i l \/ x @ i = true.
Proof.
  unfold set_all. induction l as [|a l IH]; simpl; intros x i; [tauto|]. rewrite IH, setbit_at, orb_true_iff.
  rewrite N.eqb_eq. tauto.
Qed.

Lemma clear_all_at l : forall x i, clear_all l x @ i = true <-> ~ In i l /\ x @ i = true.
Proof.
  unfold clear_all. induction l as [|a l IH]; simpl; intros x i; [tauto|].
  rewrite IH, clearbit_at, andb_true_iff, negb_true_iff, N.eqb_neq. tauto.
Qed.

(** What a flood reaches: itself closed under steps over free squares. *)
Lemma flood_spec (src : square -> Prop) (E : N) fuel : forall todo reached free c,
  flood near fuel todo reached free = Some c ->
  (forall x, E @ x = true <-> reached @ x = true \/ free @ x = true) ->
  (forall x, In x todo -> on x) ->
  (forall x, src x \/ reached @ x = true -> In x todo \/ forall y, In y (near x) -> E @ y = true -> reached @ y = true) ->
  (forall x, c @ x = true -> E @ x = true) /\ (forall x, reached @ x = true -> c @ x = true) /\
  (forall x y, src x \/ c @ x = true -> In y (near x) -> E @ y = true -> c @ y = true).
Proof.
  induction fuel as [|fuel IH]; simpl; [easy|]. intros todo reached free c F EE O H.
  destruct todo as [|x todo].
  - injection F as <-. repeat split; auto; [intros; apply EE; auto|].
    intros x y X. destruct (H x X) as [[]|G]. auto.
  - set (new := filter _ _) in F. apply IH in F; clear IH.
    + destruct F as (F1 & F2 & F3). repeat split; auto. intros y Y. apply F2. apply set_all_at. auto.
    + intro y. rewrite EE, set_all_at, clear_all_at. split.
      * intros [Y|Y]; auto. destruct (in_dec N.eq_dec y new); auto.
      * intros [[Y|Y]|Y]; auto; [|tauto]. unfold new in Y. apply filter_In in Y. tauto.
    + intros y Y. apply in_app_or in Y as [Y|Y]; [|apply O; now right].
      apply filter_In in Y as [Y _]. eapply near_on; eauto. apply O. now left.
    + intros y Y. destruct (in_dec N.eq_dec y (new ++ todo)) as [I|I]; auto. right.
      assert (Y' : src y \/ reached @ y = true).
      { destruct Y as [Y|Y]; auto. apply set_all_at in Y as [Y|Y]; auto. elim I. apply in_or_app; auto. }
      destruct (H y Y') as [[<-|J]|J].
      * intros z Z Ez. apply set_all_at. apply EE in Ez as [Ez|Ez]; auto. left. now apply filter_In.
      * elim I. apply in_or_app; auto.
      * intros z Z Ez. apply set_all_at. auto.
Qed.

Lemma empty_set_at p i : empty_set w h p @ i = true <-> on i /\ occupied p @ i = false.
Proof.
  unfold empty_set. rewrite N.ldiff_spec, andb_true_iff, negb_true_iff.
  rewrite N.ones_spec_iff. unfold Game.on. rewrite in_squares. tauto.
Qed.

Lemma own_set_at p i : own_set p @ i = own p i.
Proof. unfold own_set. apply N.ldiff_spec. Qed.

Lemma own_swap p i : own (swap p) i = opp p i.
Proof. unfold own, opp, swap; simpl. apply andb_comm. Qed.

Lemma c_set_spec p c : c_set w h near p = Some c ->
  (forall x, c @ x = true -> on x /\ occupied p @ x = false) /\
  (forall x y, on x -> own p x = true \/ c @ x = true -> touch x y -> occupied p @ y = false -> c @ y = true).
Proof.
  unfold c_set. intro F.
  apply (flood_spec (fun x => on x /\ own p x = true) (empty_set w h p)) in F.
  - destruct F as (F1 & _ & F3). split.
    + intros x X. now apply empty_set_at, F1.
    + intros x y Ox X T Fr. apply (F3 x); [tauto| |].
      * now apply near_touch.
      * apply empty_set_at. split; auto. eauto using touch_on.
  - intro x. rewrite N.bits_0. intuition congruence.
  - intros x X. now apply members_in in X.
  - intros x [[X1 X2]|X]; [|now rewrite N.bits_0 in X]. left. apply members_in. now rewrite own_set_at.
Qed.

(** ** The walk is a plan *)

Lemma fewest_in u l : forall best n, In (fewest near u l best n) (best :: l).
Proof.
  induction l as [|s l IH]; simpl; auto. intros best n.
  destruct (_ <? _)%nat; [destruct (IH s (around near u s))|destruct (IH best n)]; auto.
Qed.

Lemma walk_step_in u x s : walk_step near u x = Some s -> In s (near x) /\ u @ s = true.
Proof.
  unfold walk_step. destruct (filter _ _) as [|a l] eqn:E; [easy|]. injection 1 as <-.
  apply (filter_In (N.testbit u) _ (near x)). rewrite E. apply fewest_in.
Qed.

Notation plan_ok := (plan_ok w h).

Lemma walk_one_less fuel : forall x u n u', walk_one near fuel x u = (n, u') ->
  forall i, u' @ i = true -> u @ i = true.
Proof.
  induction fuel as [|fuel IH]; simpl; intros x u n u' E i I; [now injection E as <- <-|].
  destruct (walk_step near u x) as [s|]; [|now injection E as <- <-].
  destruct (walk_one near fuel s _) as (m & u1) eqn:E1. injection E as <- <-.
  apply (IH _ _ _ _ E1) in I. rewrite clearbit_at in I. now apply andb_prop in I.
Qed.

Lemma walk_one_plan fuel : forall x u n u', walk_one near fuel x u = (n, u') -> on x ->
  forall (Q : square -> Prop) rest, (forall y, Q y -> u @ y = false /\ y <> x) ->
  plan_ok Q (fun i => u' @ i = true) rest ->
  exists plan, length plan = (n + length rest)%nat /\
    plan_ok (fun y => (y = x /\ n <> O) \/ Q y) (fun i => u @ i = true) plan.
Proof.
  induction fuel as [|fuel IH]; simpl; intros x u n u' E Ox Q rest HQ P.
  { injection E as <- <-. exists rest. split; auto. eapply plan_mono; [| |exact P]; simpl; auto. }
  destruct (walk_step near u x) as [s|] eqn:Es.
  - destruct (walk_one near fuel s _) as (m & u1) eqn:E1. injection E as <- <-.
    apply walk_step_in in Es as [Is Us].
    destruct (IH _ _ _ _ E1 (near_on x s Ox Is) Q rest) as (plan & Lp & Pp); auto.
    { intros y Y. destruct (HQ y Y) as [Y1 Y2]. rewrite clearbit_at, Y1. split; auto. congruence. }
    exists ((x, s) :: plan). split; [simpl; lia|]. repeat split; auto.
    + now apply near_touch.
    + eapply plan_mono; [| |exact Pp]; simpl.
      * intros y [[-> _]|Y]; auto. destruct (HQ y Y). auto.
      * intros y Y. rewrite clearbit_at in Y. apply andb_prop in Y as [Y1 Y2].
        apply negb_true_iff, N.eqb_neq in Y2. auto.
  - injection E as <- <-. exists rest. split; auto. eapply plan_mono; [| |exact P]; simpl; auto.
Qed.

Lemma walk_list_plan queens : forall u n walked, walk_list w h near queens u = (n, walked) ->
  (forall q, In q queens -> on q /\ u @ q = false) -> NoDup queens ->
  (forall q, In q walked -> In q queens) /\
  exists plan, length plan = n /\ plan_ok (fun y => In y walked) (fun i => u @ i = true) plan.
Proof.
  induction queens as [|q queens IH]; simpl; intros u n walked E Q ND.
  { injection E as <- <-. split; auto. exists []. simpl; auto. }
  inversion ND; subst.
  destruct (walk_one _ _ q u) as (m & u1) eqn:E1. destruct (walk_list w h near queens u1) as (k & wl) eqn:E2.
  injection E as <- <-. destruct (IH _ _ _ E2) as (I2 & plan & Lp & Pp); auto.
  { intros x X. destruct (Q x) as [X1 X2]; auto. split; auto.
    destruct (u1 @ x) eqn:U; auto. apply (walk_one_less _ _ _ _ _ E1) in U. congruence. }
  split.
  - destruct m; intros x X; auto. destruct X; auto.
  - destruct (walk_one_plan _ _ _ _ _ E1 (proj1 (Q q (or_introl eq_refl))) (fun y => In y wl) plan)
      as (plan' & Lp' & Pp'); auto.
    { intros y Y. split; [apply Q; auto|]. intros ->. auto. }
    exists plan'. split; [lia|]. eapply plan_mono; [| |exact Pp']; simpl; auto.
    intros y [[-> N0]|Y]; destruct m; simpl; auto. easy.
Qed.

Lemma nodup_app (l m : list square) : NoDup l -> NoDup m -> (forall x, In x l -> In x m -> False) -> NoDup (l ++ m).
Proof.
  induction l as [|a l IH]; simpl; auto. intros ND NDm D. inversion ND; subst. constructor.
  - intro I. apply in_app_or in I as [I|I]; eauto.
  - apply IH; auto. eauto.
Qed.

Lemma walk_plan p c queens n walked : c_set w h near p = Some c ->
  walk w h near c (t_set w h p c) queens = (n, walked) ->
  (forall q, In q queens -> on q /\ opp p q = true) -> NoDup queens ->
  (forall q, In q walked -> In q queens) /\
  exists plan, length plan = n /\
    plan_ok (fun y => In y walked) (fun i => t_set w h p c @ i = true) plan.
Proof.
  intros C W Q ND. unfold walk in W. apply walk_list_plan in W.
  - destruct W as (W1 & W2). split; auto. intros q I. apply W1 in I. apply in_app_or in I as [I|I];
      apply filter_In in I; tauto.
  - intros q I. assert (J : In q queens) by (apply in_app_or in I as [I|I]; apply filter_In in I; tauto).
    destruct (Q q J) as [O P]. split; auto.
    destruct (t_set w h p c @ q) eqn:T; auto. unfold t_set in T. rewrite N.ldiff_spec in T.
    apply andb_prop in T as [T _]. apply empty_set_at in T as [_ T]. rewrite occupied_at in T.
    unfold opp in P. destruct (wa p @ q), (wb p @ q); easy.
  - apply nodup_app; auto using NoDup_filter. intros x X Y. apply filter_In in X as [_ X], Y as [_ Y].
    now rewrite Y in X.
Qed.

Lemma p_queens_in p q : In q (p_queens w h p) <-> on q /\ opp p q = true.
Proof. unfold p_queens. now rewrite members_in, own_set_at, own_swap. Qed.

Lemma p_queens_nodup p : NoDup (p_queens w h p).
Proof. apply NoDup_filter, squares_nodup. Qed.

Lemma without_in q l x : In x (without q l) <-> In x l /\ x <> q.
Proof. unfold without. rewrite filter_In, negb_true_iff, N.eqb_neq. tauto. Qed.

(** ** From the sets of a rule to the state of the strategy *)

Definition region (p : position) (c : N) (i : square) : bool := c @ i || own p i.

Lemma region_open p c : c_set w h near p = Some c -> open_squares w h (region p c) p = card w h c.
Proof.
  intro C. destruct (c_set_spec p c C) as [C1 _]. unfold open_squares, card. apply count_ext.
  intros i I. unfold region. destruct (c @ i) eqn:Ci.
  - destruct (C1 i Ci) as [_ ->]. reflexivity.
  - destruct (own p i) eqn:Oi; auto. rewrite occupied_at. unfold own in Oi.
    apply andb_prop in Oi as [-> _]. reflexivity.
Qed.

Lemma region_held p c walked plan (F : square -> Prop) col S : c_set w h near p = Some c ->
  plan_ok (fun y => In y walked) (fun i => t_set w h p c @ i = true) plan ->
  (forall x, In x walked -> on x /\ opp p x = true) ->
  (forall x, F x -> on x /\ opp p x = true /\ ~ In x walked) ->
  (forall r s, on r -> region p c r = true -> region p c s = true -> touch r s -> col r = col s) ->
  (forall k, In k S -> safe_area w h (region p c) col F k p) -> NoDup S ->
  held w h (region p c) col (fun y => In y walked) (fun i => t_set w h p c @ i = true) F plan S p.
Proof.
  intros C P W HF Co Sa ND. destruct (c_set_spec p c C) as [C1 C2]. constructor; auto.
  - intros i I O. unfold region. rewrite O. apply orb_true_r.
  - intros r s Or Rr T. destruct (occupied p @ s) eqn:Fs.
    + unfold region. rewrite occupied_at in Fs. unfold own. destruct (wa p @ s), (wb p @ s); try easy.
      * now right.
      * left. apply orb_true_r.
      * now right.
    + left. unfold region. rewrite (C2 r s); auto. unfold region in Rr. apply orb_prop in Rr. tauto.
  - intros x T. unfold t_set in T. rewrite N.ldiff_spec in T. apply andb_prop in T as [T N].
    apply empty_set_at in T as [Ox Fx]. repeat split; auto. apply negb_true_iff in N.
    unfold region. rewrite N. rewrite occupied_at in Fx. unfold own. destruct (wa p @ x), (wb p @ x); easy.
Qed.

(** * Rule 2 *)

(** FORMAT> - **2c, O to move:** `walk(all queens of P) >= N`. *)
Theorem rule_2c_sound p : rule_2c w h near p = true -> loses w h p.
Proof.
  unfold rule_2c. destruct (c_set w h near p) as [c|] eqn:C; [|easy].
  destruct (walk w h near c _ _) as (n & walked) eqn:W. simpl. intro Le. apply Nat.leb_le in Le.
  destruct (walk_plan _ _ _ _ _ C W) as (I & plan & Lp & Pp); [intros; now apply p_queens_in|apply p_queens_nodup|].
  apply (O_to_move w h B (region p c) (fun _ => O) (fun y => In y walked) (fun i => t_set w h p c @ i = true)
    (fun _ => False) plan []).
  - apply region_held; auto; try easy; [|constructor]. intros x X. now apply p_queens_in, I.
  - rewrite region_open by auto. lia.
Qed.

(** FORMAT> - **2a, P to move:** `walk(all queens of P) >= N + 1`. *)
Theorem rule_2a_sound p : rule_2a w h near p = true -> wins w h (swap p).
Proof.
  unfold rule_2a. destruct (c_set w h near p) as [c|] eqn:C; [|easy].
  destruct (walk w h near c _ _) as (n & walked) eqn:W. simpl. intro Le. apply Nat.leb_le in Le.
  destruct (walk_plan _ _ _ _ _ C W) as (I & plan & Lp & Pp); [intros; now apply p_queens_in|apply p_queens_nodup|].
  apply (P_to_move w h B (region p c) (fun _ => O) (fun y => In y walked) (fun i => t_set w h p c @ i = true)
    (fun _ => False) plan []).
  - apply region_held; auto; try easy; [|constructor]. intros x X. now apply p_queens_in, I.
  - rewrite region_open by auto. lia.
Qed.

Lemma touching_near c q : touching near c q = true -> exists s, In s (near q) /\ c @ s = true.
Proof. unfold touching. intro T. now apply existsb_exists in T. Qed.

(** FORMAT> - **2b, P to move:** P has a queen q with a neighbour in `C`, and `walk(all queens of P but q) + 1
    FORMAT>   >= N`. Here q makes the first move: it steps into `C` and shoots back at the square it came from. *)
Theorem rule_2b_sound p : rule_2b w h near p = true -> wins w h (swap p).
Proof.
  unfold rule_2b. destruct (c_set w h near p) as [c|] eqn:C; [|easy].
  intro E. apply existsb_exists in E as (q & Iq & E). apply andb_prop in E as [T Le].
  destruct (walk w h near c _ _) as (n & walked) eqn:W. simpl in Le. apply Nat.leb_le in Le.
  destruct (walk_plan _ _ _ _ _ C W) as (I & plan & Lp & Pp).
  { intros x X. apply without_in in X. now apply p_queens_in. }
  { apply NoDup_filter, p_queens_nodup. }
  destruct (touching_near _ _ T) as (s & Ns & Cs). apply p_queens_in in Iq as [Oq Pq].
  destruct (c_set_spec p c C) as [C1 _]. destruct (C1 s Cs) as [Os Fs].
  apply (P_steps w h B (region p c) (fun _ => O) (fun y => In y walked) (fun i => t_set w h p c @ i = true)
    (fun x => x = q) plan [] p O q s).
  - apply region_held; auto; try easy; [| |constructor].
    + intros x X. apply I, without_in in X. now apply p_queens_in.
    + intros x ->. repeat split; auto. intro X. apply I, without_in in X. tauto.
  - repeat split; auto; [now apply near_touch|]. unfold region. now rewrite Cs.
  - rewrite region_open by auto. simpl. lia.
Qed.

(** * Rule 3 *)

Section Areas.
Variable R : square -> bool.
Variable col : square -> nat.

(** The program [safe] finds safe moves, if it is given what is in the area. *)
Lemma safe_sound (F : square -> Prop) k p mine theirs empty :
  (forall r s, on r -> R r = true -> touch r s -> R s = true \/ wb p @ s = true) ->
  (forall r s, on r -> R r = true -> R s = true -> touch r s -> col r = col s) ->
  (forall i, on i -> own p i = true -> R i = true) ->
  (forall x, on x -> R x = true -> col x = k -> occupied p @ x = false -> empty @ x = true) ->
  (forall x, empty @ x = true -> on x /\ R x = true /\ col x = k /\ occupied p @ x = false) ->
  (forall x, on x -> own p x = true -> col x = k -> theirs @ x = true) ->
  (forall g, on g -> mine @ g = true -> F g /\ col g = k) ->
  safe w h lines near mine theirs empty = true -> safe_area w h R col F k p.
Proof.
  intros Hw Hc Ho He1 He2 Ht Hm E. unfold safe in E. apply andb_prop in E as [E1 E2]. split.
  - apply existsb_exists in E1 as (s & I & Es). apply in_flat_map in I as (g & Ig & Is).
    apply members_in in Ig as [Og Mg]. destruct (Hm g Og Mg) as [Fg Cg].
    destruct (He2 s Es) as (Os & Rs & Cs & Fs). exists g, s. repeat split; auto. now apply near_touch.
  - intros m Lm Cm. destruct (legal_facts w h B p m Lm) as (Of & Ot & Oa & A1 & A2 & _).
    pose proof (area_closed w h R col p k Hw Hc) as Cl.
    assert (Own : own p (from m) = true) by now destruct Lm as (_ & ? & _).
    assert (Xf : in_area R col k (from m)) by (split; auto).
    destruct (move_in w h B (in_area R col k) p m Cl Xf Lm) as [Xt Xa].
    rewrite forallb_forall in E2.
    assert (Im : In (from m) (members w h theirs)) by (apply members_in; auto).
    specialize (E2 _ Im). cbv beta zeta in E2.
    set (occ := N.ldiff (N.ones (w * h)) empty) in *.
    assert (Cl' : forall r u, on r -> (on r /\ in_area R col k r) -> touch r u -> occupied p @ u = false ->
      on u /\ in_area R col k u).
    { intros r u Or [_ Xr] Tu Fr. split; eauto using touch_on. }
    assert (Free : forall u, on u /\ in_area R col k u -> occupied p @ u = false -> occ @ u = false).
    { intros u [Ou [Ru Cu]] Fu. unfold occ. rewrite N.ldiff_spec, (He1 u); auto. apply andb_false_r. }
    pose proof Lm as (_ & _ & (d & D & Q) & (e & D' & Q')).
    assert (T1 : In (to m) (reach lines occ (from m))).
    { apply (reach_line w h B lines L); auto. exists d. split; auto.
      eapply (line_in w h B (fun u => on u /\ in_area R col k u) (occupied p)); [exact Cl'|exact Free|auto|auto|auto|exact Q]. }
    assert (T2 : In (arrow m) (reach lines (N.clearbit occ (from m)) (to m))).
    { apply (reach_line w h B lines L); auto. exists e. split; auto.
      eapply (line_in w h B (fun u => on u /\ in_area R col k u) (N.clearbit (occupied p) (from m)));
        [| |auto|auto|auto|exact Q'].
      - intros r u Or Xr Tu Fr. rewrite clearbit_at in Fr.
        destruct (N.eqb_spec (from m) u) as [<-|]; auto. rewrite andb_true_r in Fr. eauto.
      - intros u Xu. rewrite !clearbit_at. destruct (N.eqb_spec (from m) u) as [<-|];
          [intros _; apply andb_false_r|]. simpl. rewrite !andb_true_r. auto. }
    rewrite forallb_forall in E2. specialize (E2 _ T1). cbv beta in E2.
    rewrite forallb_forall in E2. specialize (E2 _ T2). cbv beta in E2.
    apply existsb_exists in E2 as (s & Is & E2). apply filter_In in Is as [Is Left].
    apply andb_prop in E2 as [N1 N2]. apply negb_true_iff, N.eqb_neq in N1, N2.
    apply in_flat_map in Is as (g & Ig & Is). apply members_in in Ig as [Og Mg].
    destruct (Hm g Og Mg) as [Fg Cg]. exists g, s.
    assert (Hs : on s /\ R s = true /\ col s = k /\ (occupied p @ s = false \/ s = from m)).
    { apply orb_prop in Left as [Es|Es].
      - destruct (He2 s Es) as (Os & Rs & Cs & Fs). auto.
      - apply N.eqb_eq in Es; subst s. destruct Xf. auto. }
    destruct Hs as (Os & Rs & Cs & Fs). repeat split; auto; [now apply near_touch|].
    rewrite (moved_occupied w h B p m s Lm).
    destruct (N.eqb_spec (arrow m) s); [congruence|]. destruct (N.eqb_spec (to m) s); [congruence|].
    destruct (N.eqb_spec (from m) s); simpl; [apply andb_false_r|].
    rewrite andb_true_r. destruct Fs as [Fs|Fs]; [auto|congruence].
Qed.
End Areas.

(** The number of the area of a square. *)
Fixpoint color (l : list N) (x : square) : nat :=
  match l with
  | [] => O
  | a :: l' => if a @ x then S (length l') else color l' x
  end.

Lemma color_le l x : (color l x <= length l)%nat.
Proof. induction l as [|a l IH]; simpl; auto. destruct (a @ x); lia. Qed.

Lemma numbered_le l k a : In (k, a) (numbered l) -> (k <= length l)%nat.
Proof. induction l as [|b l IH]; simpl; [easy|]. intros [E|I]; [injection E as <- _; lia|]. apply IH in I. lia. Qed.

Lemma numbered_nodup l : NoDup (map fst (numbered l)).
Proof.
  induction l as [|b l IH]; simpl; constructor; auto. intro I.
  apply in_map_iff in I as ((k & a) & E & I). apply numbered_le in I. simpl in E. lia.
Qed.

Lemma nodup_filter_map (f : nat * N -> bool) l : NoDup (map fst l) -> NoDup (map fst (filter f l)).
Proof.
  induction l as [|x l IH]; simpl; auto. intro ND. inversion ND; subst.
  destruct (f x); simpl; auto. constructor; auto. intro I. apply H1.
  apply in_map_iff in I as (y & E & I). apply filter_In in I as [I _]. rewrite <- E. now apply in_map.
Qed.

Lemma area_spec domain x a : flood near (flood_fuel w h) [x] (N.setbit 0 x) (N.clearbit domain x) = Some a ->
  on x -> domain @ x = true ->
  (forall i, a @ i = true -> domain @ i = true) /\
  (forall i j, a @ i = true -> In j (near i) -> domain @ j = true -> a @ j = true).
Proof.
  intros F Ox Dx. apply (flood_spec (fun _ => False) domain) in F.
  - destruct F as (F1 & _ & F3). split; auto. intros i j I. apply F3. auto.
  - intro i. rewrite setbit_at, clearbit_at, N.bits_0, orb_false_r, N.eqb_eq, andb_true_iff, negb_true_iff, N.eqb_neq.
    destruct (N.eq_dec x i) as [<-|]; tauto.
  - intros i [<-|[]]; auto.
  - intros i [[]|I]. rewrite setbit_at, N.bits_0, orb_false_r, N.eqb_eq in I. left. now left.
Qed.

Lemma areas_color fuel : forall domain rest l, areas w h near fuel domain rest = Some l ->
  (forall x, rest @ x = true -> domain @ x = true) ->
  forall r s, on r -> domain @ r = true -> domain @ s = true -> touch r s -> color l r = color l s.
Proof.
  induction fuel as [|fuel IH]; cbn [areas]; [easy|]. intros domain rest l E Sub r s Or Dr Ds T.
  destruct (find _ _) as [x|] eqn:Ex; [|now injection E as <-].
  apply find_some in Ex as [Ox Rx].
  destruct (flood near _ _ _ _) as [a|] eqn:Fa; [|easy].
  destruct (areas w h near fuel _ _) as [l'|] eqn:El; [|easy]. injection E as <-. cbn [color].
  destruct (area_spec domain x a Fa Ox (Sub x Rx)) as [_ Cl].
  assert (Os : on s) by eauto using touch_on.
  assert (A : a @ r = a @ s).
  { destruct (a @ r) eqn:Ar; [symmetry; apply (Cl r); auto; now apply near_touch|].
    destruct (a @ s) eqn:As; auto. rewrite <- Ar. apply (Cl s); auto. apply near_touch; auto.
    eauto using touch_sym. }
  rewrite A. destruct (a @ s) eqn:As; auto.
  apply (IH _ _ _ El); auto; try (rewrite N.ldiff_spec, ?A, ?As, ?Dr, ?Ds; reflexivity).
  intros y. rewrite !N.ldiff_spec, !andb_true_iff. intros [Y1 Y2]. auto.
Qed.

Lemma areas_number fuel : forall domain rest l, areas w h near fuel domain rest = Some l ->
  (forall x, rest @ x = true -> domain @ x = true) ->
  forall k a, In (k, a) (numbered l) ->
  (forall x, a @ x = true -> domain @ x = true /\ color l x = k) /\ (forall x, color l x = k -> a @ x = true).
Proof.
  induction fuel as [|fuel IH]; cbn [areas]; [easy|]. intros domain rest l E Sub k a I.
  destruct (find _ _) as [x|] eqn:Ex; [|now injection E as <-].
  apply find_some in Ex as [Ox Rx].
  destruct (flood near _ _ _ _) as [b|] eqn:Fb; [|easy].
  destruct (areas w h near fuel _ _) as [l'|] eqn:El; [|easy]. injection E as <-. cbn [numbered color In] in *.
  destruct (area_spec domain x b Fb Ox (Sub x Rx)) as [Db _].
  destruct I as [E|I].
  - injection E as <- <-. split; intros y Y; [rewrite Y; auto|].
    destruct (b @ y); auto. pose proof (color_le l' y). lia.
  - pose proof (numbered_le _ _ _ I) as Le.
    destruct (IH _ _ _ El) with (k := k) (a := a) as [H1 H2]; auto.
    { intros y. rewrite !N.ldiff_spec, !andb_true_iff. intros [Y1 Y2]. auto. }
    split; intros y Y.
    + destruct (H1 y Y) as [D C]. rewrite N.ldiff_spec in D. apply andb_prop in D as [D1 D2].
      apply negb_true_iff in D2. now rewrite D2.
    + destruct (b @ y); [lia|]. auto.
Qed.

Theorem sum_of_sound begins p c queens : c_set w h near p = Some c ->
  (forall q, In q queens -> on q /\ opp p q = true) -> NoDup queens ->
  sum_of w h lines near begins p c (t_set w h p c) queens = true ->
  if begins then wins w h (swap p) else loses w h p.
Proof.
  intros C Qs ND E. unfold sum_of in E.
  destruct (walk w h near c _ queens) as (n & walked) eqn:W.
  destruct (walk_plan _ _ _ _ _ C W Qs ND) as (I & plan & Lp & Pp).
  set (fl := filter _ (p_queens w h p)) in E. set (free := set_all fl 0) in E.
  destruct (areas w h near _ _ c) as [l|] eqn:Ea; [|easy].
  set (ids := safe_numbers _ _ _ _ _ _ _ _) in E. 
  set (F := fun x => free @ x = true).
  destruct (c_set_spec p c C) as [C1 C2].
  assert (HF : forall x, F x -> on x /\ opp p x = true /\ ~ In x walked).
  { intros x X. apply set_all_at in X as [X|X]; [|now rewrite N.bits_0 in X].
    apply filter_In in X as [X Y]. apply p_queens_in in X as [X1 X2]. repeat split; auto.
    intro J. apply andb_prop in Y as [_ Y]. apply negb_true_iff in Y.
    assert (Z : existsb (N.eqb x) walked = true); [|congruence].
    apply existsb_exists. exists x. split; auto. apply N.eqb_refl. }
  set (domain := N.lor c (N.lor (own_set p) free)) in Ea.
  assert (Sub : forall x, c @ x = true -> domain @ x = true).
  { intros x X. unfold domain. now rewrite N.lor_spec, X. }
  assert (RD : forall x, region p c x = true -> domain @ x = true).
  { intros x X. unfold domain, region in *. rewrite !N.lor_spec, own_set_at. now rewrite orb_assoc, X. }
  pose proof (areas_color _ _ _ _ Ea Sub) as Col. pose proof (areas_number _ _ _ _ Ea Sub) as Num.
  assert (HW : forall x, In x walked -> on x /\ opp p x = true) by (intros x X; apply Qs, I, X).
  assert (HC : forall r s, on r -> region p c r = true -> region p c s = true -> touch r s -> color l r = color l s).
  { intros r s Or Rr Rs T. apply Col; auto. }
  assert (H0 : held w h (region p c) (color l) (fun y => In y walked) (fun i => t_set w h p c @ i = true) F plan [] p).
  { apply region_held; auto; [easy|constructor]. }
  (* what the sets of an area are *)
  assert (Area : forall k a, In (k, a) (numbered l) ->
    (forall x, on x -> region p c x = true -> color l x = k -> occupied p @ x = false -> N.land a c @ x = true) /\
    (forall x, N.land a c @ x = true -> on x /\ region p c x = true /\ color l x = k /\ occupied p @ x = false) /\
    (forall x, on x -> own p x = true -> color l x = k -> N.land a (own_set p) @ x = true) /\
    (forall g, N.land a free @ g = true -> F g /\ color l g = k)).
  { intros k a J. destruct (Num k a J) as [N1 N2]. repeat split.
    - intros x Ox Rx Cx Fx. rewrite N.land_spec, (N2 x Cx). simpl. unfold region in Rx.
      destruct (c @ x); auto. rewrite occupied_at in Fx. unfold own in Rx. simpl in Rx.
      destruct (wa p @ x), (wb p @ x); easy.
    - rewrite N.land_spec in H. apply andb_prop in H as [X1 X2]. now apply C1.
    - rewrite N.land_spec in H. apply andb_prop in H as [X1 X2]. unfold region. now rewrite X2.
    - rewrite N.land_spec in H. apply andb_prop in H as [X1 X2]. now apply N1.
    - rewrite N.land_spec in H. apply andb_prop in H as [X1 X2]. now apply C1.
    - intros x Ox Ow Cx. rewrite N.land_spec, own_set_at, Ow, (N2 x Cx). reflexivity.
    - rewrite N.land_spec in H. now apply andb_prop in H.
    - rewrite N.land_spec in H. apply andb_prop in H as [X1 X2]. now apply N1. }
  assert (H : held w h (region p c) (color l) (fun y => In y walked) (fun i => t_set w h p c @ i = true) F plan ids p).
  { apply region_held; auto.
    - intros k K. unfold ids, safe_numbers in K. apply in_map_iff in K as ((k' & a) & <- & K).
      apply filter_In in K as [K Sa]. simpl in *. destruct (Area _ _ K) as (A1 & A2 & A3 & A4).
      eapply safe_sound; [apply (h_wall _ _ _ _ _ _ _ _ _ _ H0)|exact HC|apply (h_own _ _ _ _ _ _ _ _ _ _ H0)
        |exact A1|exact A2|exact A3| |exact Sa]. auto.
    - apply nodup_filter_map, numbered_nodup. }
  pose proof (region_open p c C) as Open.
  destruct begins.
  - apply orb_prop in E as [E|E].
    + apply Nat.leb_le in E. eapply P_to_move; [exact B|exact H|]. lia.
    + apply existsb_exists in E as ((k & a) & K & E). apply andb_prop in E as [Le E]. apply Nat.leb_le in Le.
      apply existsb_exists in E as (g & Ig & E). apply members_in in Ig as [Og Mg].
      apply existsb_exists in E as (s & Is & E). apply andb_prop in E as [Es E].
      destruct (Area _ _ K) as (A1 & A2 & A3 & A4).
      destruct (A4 g Mg) as [Fg Cg]. destruct (A2 s Es) as (Os & Rs & Cs & Fs).
      destruct (HF g Fg) as (_ & Pg & _). assert (Tgs : touch g s) by now apply near_touch.
      assert (Step : can_step w h (region p c) (color l) F k p g s) by (repeat split; auto).
      apply orb_prop in E as [E|E].
      * apply Nat.leb_le in E. eapply P_steps; [exact B|exact H|exact Step|]. lia.
      * eapply P_steps_safely; [exact B|exact H|exact Step| |lia].
        eapply safe_sound; [| | | | | | |exact E].
        -- intros r x Or Rr Tr. unfold plod; simpl. rewrite setbit_at.
           destruct (h_wall _ _ _ _ _ _ _ _ _ _ H0 r x) as [X|X]; auto. rewrite X. right. apply orb_true_r.
        -- exact HC.
        -- intros i Oi Ow. rewrite plod_own in Ow by auto. now apply (h_own _ _ _ _ _ _ _ _ _ _ H0).
        -- intros x Ox Rx Cx Fx. rewrite plod_occupied in Fx by auto. apply orb_false_iff in Fx as [Fx Nx].
           rewrite clearbit_at, Nx, (A1 x); auto.
        -- intros x X. rewrite clearbit_at in X. apply andb_prop in X as [X Nx]. apply negb_true_iff in Nx.
           destruct (A2 x X) as (Ox & Rx & Cx & Fx). repeat split; auto.
           rewrite plod_occupied, Fx by auto. exact Nx.
        -- intros x Ox Ow. rewrite plod_own in Ow by auto. auto.
        -- intros x Ox X. rewrite setbit_at, clearbit_at in X. destruct (N.eqb_spec s x) as [<-|Nx]; [auto|].
           simpl in X. apply andb_prop in X as [X Ng]. apply negb_true_iff, N.eqb_neq in Ng.
           destruct (A4 x X). split; auto.
  - apply Nat.leb_le in E. eapply O_to_move; [exact B|exact H|]. lia.
Qed.

(** FORMAT> P has the last move, and so wins, if one of these holds: *)
Theorem rule_3_sound begins p : rule_3 w h lines near begins p = true ->
  if begins then wins w h (swap p) else loses w h p.
Proof.
  unfold rule_3. destruct (c_set w h near p) as [c|] eqn:C; [|now destruct begins].
  destruct (_ <? _)%nat; [easy|]. intro E. apply orb_prop in E as [E|E].
  - apply (sum_of_sound begins p c (p_queens w h p)); auto; [intros; now apply p_queens_in|apply p_queens_nodup].
  - apply existsb_exists in E as (q & Iq & E). apply andb_prop in E as [_ E].
    apply (sum_of_sound begins p c (without q (p_queens w h p))); auto.
    + intros x X. apply without_in in X. now apply p_queens_in.
    + apply NoDup_filter, p_queens_nodup.
Qed.

(** * All rules *)

Theorem leaf_won_sound n_rules p : leaf_won w h lines near n_rules p = true -> wins w h p.
Proof.
  unfold leaf_won. rewrite <- (swap_swap p) at 4. intro E. apply orb_prop in E as [E|E];
    apply andb_prop in E as [_ E]; [apply orb_prop in E as [E|E]|].
  - now apply rule_2a_sound.
  - now apply rule_2b_sound.
  - now apply (rule_3_sound true).
Qed.

Theorem leaf_lost_sound n_rules p : leaf_lost w h lines near n_rules p = true -> loses w h p.
Proof.
  unfold leaf_lost. intro E. apply orb_prop in E as [E|E]; apply andb_prop in E as [_ E].
  - now apply rule_2c_sound.
  - now apply (rule_3_sound false).
Qed.

End Proofs.
