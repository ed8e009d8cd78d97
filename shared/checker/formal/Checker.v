(** A check of certificates, and of proofs in parts, as a program, with the theorems that what it
    accepts is true.

    The leaf rules come in as two tests, [leaf_won] and [leaf_lost]. This file asks one thing of
    them: what they say of a position holds. Leaves.v has the tests and that proof. *)

From Coq Require Import NArith List Bool Lia Arith FMapPositive.
Import ListNotations.
Require Import Game Symmetry.
Open Scope N_scope.

(** * Sets of positions *)

Definition key (x : N) : positive := N.succ_pos x.
Definition table := PositiveMap.t (PositiveMap.t unit).
Definition empty_table : table := PositiveMap.empty _.

Definition row (t : table) (p : position) : PositiveMap.t unit :=
  match PositiveMap.find (key (wa p)) t with Some r => r | None => PositiveMap.empty _ end.
Definition has (t : table) (p : position) : bool :=
  match PositiveMap.find (key (wb p)) (row t p) with Some _ => true | None => false end.
Definition add (t : table) (p : position) : table :=
  PositiveMap.add (key (wa p)) (PositiveMap.add (key (wb p)) tt (row t p)) t.
Definition table_of (l : list position) : table := fold_left add l empty_table.

Lemma key_inj x y : key x = key y -> x = y.
Proof. unfold key. intro E. apply (f_equal Npos) in E. rewrite !N.succ_pos_spec in E. lia. Qed.

Lemma has_add t p q : has (add t q) p = true -> p = q \/ has t p = true.
Proof.
  unfold has, add, row. destruct (Pos.eq_dec (key (wa p)) (key (wa q))) as [E|E].
  - rewrite E, PositiveMap.gss. destruct (Pos.eq_dec (key (wb p)) (key (wb q))) as [F|F].
    + left. apply key_inj in E, F. destruct p, q; simpl in *; congruence.
    + rewrite PositiveMap.gso by auto. auto.
  - rewrite PositiveMap.gso by auto. auto.
Qed.

Lemma table_of_in l p : has (table_of l) p = true -> In p l.
Proof.
  unfold table_of. assert (G : forall t, has (fold_left add l t) p = true -> In p l \/ has t p = true).
  { induction l as [|q l IH]; simpl; intros t H; auto. apply IH in H as [H|H]; auto.
    apply has_add in H as [->|H]; auto. }
  intro H. apply G in H as [H|H]; auto. exfalso. revert H.
  unfold has, row, empty_table. rewrite PositiveMap.gempty. now rewrite PositiveMap.gempty.
Qed.

(** * A part *)

(** A claim is true where the side to move wins, and false where it loses. *)
Definition claimed := (position * bool)%type.

Record layer := Layer {
  number : N;                        (** of burnt squares *)
  cites : list claimed;
  entries : list (position * move)
}.
Record part := Part {
  rules : N;                         (** how many leaf rules it may use, 1 to 3 *)
  roots : list claimed;
  layers : list layer
}.

Definition all_entries (pt : part) := flat_map entries (layers pt).
Definition all_cites (pt : part) := flat_map cites (layers pt).

Definition holds (w h : N) (c : claimed) : Prop := if snd c then wins w h (fst c) else loses w h (fst c).

Definition pos_eqb (p q : position) : bool := (wa p =? wa q) && (wb p =? wb q).
Definition move_eqb (m n : move) : bool :=
  (from m =? from n) && (to m =? to n) && (arrow m =? arrow n).

(** The words are strictly increasing. *)
Fixpoint increasing {A} (f : A -> position) (l : list A) : bool :=
  match l with
  | x :: (y :: _) as l' => less (f x) (f y) && increasing f l'
  | _ => true
  end.
Fixpoint decreasing (l : list layer) : bool :=
  match l with
  | x :: (y :: _) as l' => (number y <? number x) && decreasing l'
  | _ => true
  end.
Definition nonempty {A} (l : list A) : bool := match l with [] => false | _ => true end.

Section Check.
Variables w h : N.
Variable lines : square -> list (list square).
Variable srcs : list (list square).
Variables leaf_won leaf_lost : N -> position -> bool.   (** the first argument: how many rules *)

Let sqs := squares w h.
Let canon := canonical srcs.
Definition burnt_squares (p : position) : N := N.of_nat (arrows w h p).

Section Tables.
Variable n_rules : N.
Variables won lost : table.

(** Is the position, after a reply, shown to be won by its side to move? *)
Definition shown_won (q : position) : bool :=
  let c := canon q in has won c || leaf_won n_rules c.

(** Is the position shown to be lost: by a leaf rule, by a citation, or because each move leads to
    a won position? Rule 1 is the case that there is no move. *)
Definition shown_lost (q : position) : bool :=
  let c := canon q in
  leaf_lost n_rules c || has lost c || forallb (fun m => shown_won (play q m)) (moves sqs lines q).

(** FORMAT> Every entry is a canonical position of its layer (burnt squares = arrows), and so is every
    FORMAT> citation. The move of an entry is legal: *)
Definition placed (n : N) (p : position) : bool := pos_eqb (canon p) p && (burnt_squares p =? n).

Definition entry_ok (n : N) (e : position * move) : bool :=
  let (p, m) := e in
  placed n p && existsb (move_eqb m) (moves sqs lines p) && shown_lost (play p m).

Definition layer_ok (l : layer) : bool :=
  (nonempty (entries l) || nonempty (cites l)) &&
  increasing fst (cites l) && increasing fst (entries l) &&
  forallb (fun c => placed (number l) (fst c)) (cites l) &&
  forallb (entry_ok (number l)) (entries l).

Definition root_ok (r : claimed) : bool := if snd r then shown_won (fst r) else shown_lost (fst r).
End Tables.

(** FORMAT> A layer
    FORMAT> with citations has **more arrows than every root**. *)
Definition cites_above (rs : list claimed) (l : layer) : bool :=
  negb (nonempty (cites l)) || forallb (fun r => burnt_squares (fst r) <? number l) rs.

Definition inside (p : position) : bool := N.log2 (N.lor (wa p) (wb p)) <? w * h.

Definition check_part (pt : part) : bool :=
  let won := table_of (map fst (all_entries pt) ++ map fst (filter snd (all_cites pt))) in
  let lost := table_of (map fst (filter (fun c => negb (snd c)) (all_cites pt))) in
  nonempty (roots pt) && forallb (fun r => inside (fst r)) (roots pt) &&
  decreasing (layers pt) && forallb (cites_above (roots pt)) (layers pt) &&
  forallb (layer_ok (rules pt) won lost) (layers pt) && forallb (root_ok (rules pt) won lost) (roots pt).

(** * A proof in parts *)

Definition root_table (claim : bool) (rs : list claimed) : table :=
  table_of (map (fun r => canon (fst r)) (filter (fun r => Bool.eqb (snd r) claim) rs)).

(** [listed] has the roots of all parts, apart by claim. *)
Definition is_listed (listed : bool -> table) (c : claimed) : bool := has (listed (snd c)) (canon (fst c)).

Definition check_proof (most_rules : N) (claims : list claimed) (parts : list part) : bool :=
  let rs := flat_map roots parts in
  let won := root_table true rs in
  let lost := root_table false rs in
  let listed := fun c : bool => if c then won else lost in
  forallb (fun c => inside (fst c)) claims && forallb (is_listed listed) claims &&
  forallb (fun pt => (rules pt <=? most_rules) && check_part pt && forallb (is_listed listed) (all_cites pt)) parts.

(** * The theorems *)

Hypothesis B : board_ok w h = true.
Hypothesis L : forall s, on w h s -> lines s = rays w h s.
Hypothesis S : srcs = all_sources w h.
Hypothesis leaf_won_sound : forall n p, leaf_won n p = true -> wins w h p.
Hypothesis leaf_lost_sound : forall n p, leaf_lost n p = true -> loses w h p.

Lemma canon_holds p b : holds w h (canon p, b) -> holds w h (p, b).
Proof.
  unfold holds, canon; simpl. intro H. subst srcs.
  destruct (canonical_same w h B p) as (k & K & E). destruct (inverse_twice w h k K) as [_ K'].
  destruct b; [eapply same_wins|eapply same_loses]; eauto using same_back.
Qed.

Lemma holds_canon p b : holds w h (p, b) -> holds w h (canon p, b).
Proof.
  unfold holds, canon; simpl. intro H. subst srcs.
  destruct (canonical_same w h B p) as (k & K & E).
  destruct b; [eapply same_wins|eapply same_loses]; eauto.
Qed.

Lemma canon_arrows p : arrows w h (canon p) = arrows w h p.
Proof.
  unfold canon. subst srcs. destruct (canonical_same w h B p) as (k & K & E).
  symmetry. eapply same_arrows; eauto.
Qed.

Lemma canon_room p : room w h (canon p) = room w h p.
Proof. unfold room. now rewrite canon_arrows. Qed.

Lemma move_eqb_eq m n : move_eqb m n = true -> m = n.
Proof.
  unfold move_eqb. intro E. apply andb_prop in E as [E E3]. apply andb_prop in E as [E1 E2].
  apply N.eqb_eq in E1, E2, E3. destruct m, n; simpl in *; congruence.
Qed.

Section Sound.
Variable n_rules : N.
Variables won lost : table.

(** What is shown holds, if the tables hold below so much room. *)
Lemma shown_won_sound n q : (forall p, has won p = true -> (room w h p < n)%nat -> wins w h p) ->
  (room w h q < n)%nat -> shown_won n_rules won q = true -> wins w h q.
Proof.
  intros W R E. unfold shown_won in E. apply (canon_holds q true). unfold holds; simpl.
  apply orb_prop in E as [E|E]; eauto. apply W; auto. now rewrite canon_room.
Qed.

Lemma shown_lost_sound n q : (forall p, has won p = true -> (room w h p < n)%nat -> wins w h p) ->
  (forall p, has lost p = true -> loses w h p) ->
  (room w h q <= n)%nat -> shown_lost n_rules won lost q = true -> loses w h q.
Proof.
  intros W Lo R E. unfold shown_lost in E. apply orb_prop in E as [E|E].
  - apply (canon_holds q false). unfold holds; simpl. apply orb_prop in E as [E|E]; eauto.
  - constructor. intros m Lm. rewrite forallb_forall in E.
    apply (shown_won_sound n); auto.
    + pose proof (play_room w h B q m Lm). lia.
    + apply E. eapply moves_legal; eauto.
Qed.
End Sound.

(** A part: if the check accepts it and the cited positions are as cited, the roots are as claimed. *)
Theorem check_part_sound pt : check_part pt = true ->
  (forall c, In c (all_cites pt) -> holds w h c) ->
  forall r, In r (roots pt) -> holds w h r.
Proof.
  unfold check_part. intros E C.
  set (won := table_of _) in E. set (lost := table_of _) in E.
  apply andb_prop in E as [E ER]. apply andb_prop in E as [E EL]. clear E.
  rewrite forallb_forall in ER, EL.
  assert (Lo : forall p, has lost p = true -> loses w h p).
  { intros p H. apply table_of_in in H. apply in_map_iff in H as ((q & b) & <- & I).
    apply filter_In in I as [I N]. specialize (C _ I). unfold holds in C; simpl in *. now destruct b. }
  assert (W : forall n p, has won p = true -> (room w h p < n)%nat -> wins w h p).
  { induction n as [|n IH]; intros p H R; [lia|].
    apply table_of_in in H. apply in_app_or in H as [H|H].
    - apply in_map_iff in H as ((q & m) & <- & I). unfold all_entries in I.
      apply in_flat_map in I as (l & Il & I). specialize (EL _ Il). unfold layer_ok in EL.
      apply andb_prop in EL as [_ EL]. rewrite forallb_forall in EL. specialize (EL _ I).
      unfold entry_ok in EL. apply andb_prop in EL as [EL E2]. apply andb_prop in EL as [_ E1].
      apply existsb_exists in E1 as (m' & I' & E1). apply move_eqb_eq in E1; subst m'.
      simpl in *. assert (Lm : legal w h q m) by (eapply moves_legal; eauto).
      apply wins_by with m; auto. pose proof (play_room w h B q m Lm).
      apply (shown_lost_sound (rules pt) won lost n); auto. lia.
    - apply in_map_iff in H as ((q & b) & <- & I). apply filter_In in I as [I N].
      specialize (C _ I). unfold holds in C; simpl in *. now destruct b. }
  intros (r & b) I. specialize (ER _ I). unfold root_ok in ER; simpl in ER. unfold holds; simpl. destruct b.
  - eapply shown_won_sound; eauto.
  - eapply shown_lost_sound; eauto.
Qed.

(** A part without citations proves its roots. *)
Corollary check_alone_sound pt : check_part pt = true -> all_cites pt = [] ->
  forall r, In r (roots pt) -> holds w h r.
Proof. intros E N. apply check_part_sound; auto. rewrite N. easy. Qed.

Lemma is_listed_in rs c :
  is_listed (fun c : bool => if c then root_table true rs else root_table false rs) c = true ->
  exists r, In r rs /\ snd r = snd c /\ canon (fst r) = canon (fst c).
Proof.
  unfold is_listed. destruct c as [p b]; simpl. intro H.
  assert (H' : has (root_table b rs) (canon p) = true) by now destruct b.
  apply table_of_in in H'. apply in_map_iff in H' as ((q & b') & E & I).
  apply filter_In in I as [I E']. simpl in *. apply eqb_prop in E'. subst b'. eauto.
Qed.

(** A proof in parts: if each part passes, and each citation and each claim is a root of a listed
    part, then each claim is true. *)
Theorem check_proof_sound most claims parts : check_proof most claims parts = true ->
  forall c, In c claims -> holds w h c.
Proof.
  unfold check_proof. intros E. apply andb_prop in E as [EC EP]. apply andb_prop in EC as [_ EC].
  rewrite forallb_forall in EC, EP.
  assert (All : forall n pt r, In pt parts -> In r (roots pt) -> (room w h (fst r) < n)%nat -> holds w h r).
  { induction n as [|n IH]; intros pt r Ip Ir R; [lia|].
    specialize (EP _ Ip). apply andb_prop in EP as [EP ES].
    apply andb_prop in EP as [_ EP]. rewrite forallb_forall in ES.
    apply (check_part_sound pt); auto. intros c Ic.
    destruct (is_listed_in _ _ (ES _ Ic)) as (r' & Ir' & Eb & Ec).
    apply in_flat_map in Ir' as (pt' & Ip' & Ir').
    assert (H : holds w h r').
    { apply (IH pt'); auto. rewrite <- canon_room, Ec, canon_room.
      unfold check_part in EP. apply andb_prop in EP as [EP _]. apply andb_prop in EP as [EP EL].
      apply andb_prop in EP as [_ EA]. rewrite forallb_forall in EA, EL.
      unfold all_cites in Ic. apply in_flat_map in Ic as (l & Il & Ic).
      specialize (EA _ Il). specialize (EL _ Il). unfold layer_ok in EL.
      apply andb_prop in EL as [EL _]. apply andb_prop in EL as [_ EL].
      rewrite forallb_forall in EL. specialize (EL _ Ic). unfold placed in EL.
      apply andb_prop in EL as [_ EL]. apply N.eqb_eq in EL.
      unfold cites_above in EA. destruct (cites l) as [|c0 cs]; [easy|]. simpl in EA.
      rewrite forallb_forall in EA. specialize (EA _ Ir). apply N.ltb_lt in EA. rewrite <- EL in EA.
      unfold burnt_squares in EA. pose proof (arrows_most w h (fst c)). unfold room in *. lia. }
    destruct r' as [q b], c as [q' b']; simpl in *. subst b'.
    apply canon_holds. rewrite <- Ec. now apply holds_canon. }
  intros c Ic. destruct (is_listed_in _ _ (EC _ Ic)) as (r & Ir & Eb & Ec).
  apply in_flat_map in Ir as (pt & Ip & Ir).
  assert (H : holds w h r) by (eapply All; eauto).
  destruct r as [q b], c as [q' b']; simpl in *. subst b'.
  apply canon_holds. rewrite <- Ec. now apply holds_canon.
Qed.

End Check.
