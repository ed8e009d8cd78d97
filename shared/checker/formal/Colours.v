(** The game with white and black, as GAME.md tells it, and that positions seen by the side to move
    are the same game. So the claim "the side to move wins" about a position says which colour wins
    it. The starting positions of GAME.md stand at the end. *)

From Coq Require Import NArith List Bool Lia Arith.
Import ListNotations.
Require Import Game.
Open Scope N_scope.

Inductive colour := White | Black.
Definition other (c : colour) : colour := match c with White => Black | Black => White end.

(** What stands on a square. *)
Inductive content := Empty | Queen (c : colour) | Burnt.

(** A game as it lies on the table. *)
Record game := Game { board : square -> content; turn : colour }.

Section Colours.
Variables w h : N.
Hypothesis B : board_ok w h = true.
Notation on := (on w h).

(** A way in one direction over squares that are empty. *)
Inductive way (content_of : square -> content) (d : direction) : square -> square -> Prop :=
| way_one s t : next w h d s = Some t -> content_of t = Empty -> way content_of d s t
| way_more s t u : next w h d s = Some t -> content_of t = Empty -> way content_of d t u -> way content_of d s u.
Definition queen_way (b : square -> content) (s t : square) : Prop := exists d, In d directions /\ way b d s t.

Definition put (b : square -> content) (x : square) (c : content) : square -> content :=
  fun i => if x =? i then c else b i.

(** One of the queens of the side to move goes, then shoots an arrow, which burns a square. The
    square that she left is empty by then. *)
Definition can_move (g : game) (m : move) : Prop :=
  on (from m) /\ board g (from m) = Queen (turn g) /\
  queen_way (board g) (from m) (to m) /\
  queen_way (put (put (board g) (from m) Empty) (to m) (Queen (turn g))) (to m) (arrow m).
Definition after (g : game) (m : move) : game :=
  Game (put (put (put (board g) (from m) Empty) (to m) (Queen (turn g))) (arrow m) Burnt) (other (turn g)).

(** The side to move loses if it has no move. So colour [c] wins if it has a move to a game that it
    wins, when it is to move; and if all moves lead to games that it wins, when the other side is. *)
Inductive side_wins (c : colour) : game -> Prop :=
| own_turn g m : turn g = c -> can_move g m -> side_wins c (after g m) -> side_wins c g
| other_turn g : turn g = other c -> (forall m, can_move g m -> side_wins c (after g m)) -> side_wins c g.

(** The position [p] is what the side to move sees of the game [g]. *)
Definition sees (g : game) (p : position) : Prop := forall i, on i ->
  match board g i with
  | Empty => wa p @ i = false /\ wb p @ i = false
  | Burnt => wa p @ i = true /\ wb p @ i = true
  | Queen c => if match c, turn g with White, White | Black, Black => true | _, _ => false end
               then wa p @ i = true /\ wb p @ i = false
               else wa p @ i = false /\ wb p @ i = true
  end.

Lemma sees_empty g p i : sees g p -> on i -> board g i = Empty <-> occupied p @ i = false.
Proof.
  intros S I. specialize (S i I). rewrite occupied_at.
  destruct (board g i) as [|c|]; [|destruct c, (turn g)|]; destruct S as [-> ->]; simpl; easy.
Qed.

Lemma sees_own g p i : sees g p -> on i -> board g i = Queen (turn g) <-> own p i = true.
Proof.
  intros S I. specialize (S i I). unfold own.
  destruct (board g i) as [|c|]; [|destruct c, (turn g)|]; destruct S as [-> ->]; simpl; easy.
Qed.

Lemma way_line b occ d s t : (forall i, on i -> i <> s -> b i = Empty <-> occ @ i = false) ->
  In d directions -> on s -> (forall u, line w h occ d s u -> u <> s) ->
  (forall u, way b d s u -> u <> s) -> way b d s t <-> line w h occ d s t.
Proof.
  intros E D S NL NW.
  assert (G : forall x, on x -> (forall u, line w h occ d x u -> u <> s) -> (forall u, way b d x u -> u <> s) ->
    way b d x t <-> line w h occ d x t).
  { intros x X NL' NW'. split; intro Q.
    - induction Q as [x t E1 E2|x t u E1 E2 Q IH].
      + assert (on t) by eauto using next_on. assert (t <> s) by (apply NW'; now constructor).
        constructor; auto. now apply E.
      + assert (on t) by eauto using next_on. assert (t <> s) by (apply NW'; now constructor).
        assert (occ @ t = false) by now apply E.
        eapply line_more; eauto. apply IH; auto.
        * intros v V. apply NL'. eapply line_more; eauto.
        * intros v V. apply NW'. eapply way_more; eauto.
    - induction Q as [x t E1 E2|x t u E1 E2 Q IH].
      + assert (on t) by eauto using next_on. assert (t <> s) by (apply NL'; now constructor).
        constructor; auto. now apply E.
      + assert (on t) by eauto using next_on. assert (t <> s) by (apply NL'; now constructor).
        assert (b t = Empty) by now apply E.
        eapply way_more; eauto. apply IH; auto.
        * intros v V. apply NL'. eapply line_more; eauto.
        * intros v V. apply NW'. eapply way_more; eauto. }
  apply G; auto.
Qed.

(** A way is a line over other words, so it never comes back either. *)
Lemma way_other b d s u : In d directions -> on s -> way b d s u -> u <> s.
Proof.
  intros D S Q.
  assert (L0 : line w h 0 d s u).
  { clear D S. induction Q; [constructor|eapply line_more]; eauto using N.bits_0. }
  eapply queen_line_other; eauto. exists d. eauto.
Qed.

Lemma can_move_legal g p m : sees g p -> can_move g m <-> legal w h p m.
Proof.
  intro S. unfold can_move, legal.
  assert (One : on (from m) -> queen_way (board g) (from m) (to m) <-> queen_line w h (occupied p) (from m) (to m)).
  { intro F. split; intros (d & D & Q); exists d; split; auto; revert Q;
      apply way_line; auto; try (intros; now apply sees_empty);
      intros u U; eauto using way_other; eapply queen_line_other; eauto; exists d; eauto. }
  assert (Two : on (from m) -> on (to m) -> board g (from m) = Queen (turn g) -> to m <> from m ->
    queen_way (put (put (board g) (from m) Empty) (to m) (Queen (turn g))) (to m) (arrow m) <->
    queen_line w h (N.clearbit (occupied p) (from m)) (to m) (arrow m)).
  { intros F T Q NE.
    assert (E : forall i, on i -> i <> to m ->
      put (put (board g) (from m) Empty) (to m) (Queen (turn g)) i = Empty <->
      N.clearbit (occupied p) (from m) @ i = false).
    { intros i I N. unfold put. rewrite clearbit_at. destruct (N.eqb_spec (to m) i); [congruence|].
      destruct (N.eqb_spec (from m) i); simpl; [rewrite andb_false_r; easy|].
      rewrite andb_true_r. now apply sees_empty. }
    split; intros (d & D & W); exists d; split; auto; revert W;
      apply way_line; auto; intros u U; eauto using way_other;
      eapply queen_line_other; eauto; exists d; eauto. }
  split.
  - intros (F & O & T & C). pose proof (proj1 (One F) T) as T'.
    assert (OT : on (to m)) by eauto using queen_line_on.
    assert (NE : to m <> from m) by (eapply queen_line_other; eauto).
    repeat split; auto; [now apply sees_own with (g := g)|]. now apply Two.
  - intros (F & O & T & C). 
    assert (OT : on (to m)) by eauto using queen_line_on.
    assert (NE : to m <> from m) by (eapply queen_line_other; eauto).
    assert (O' : board g (from m) = Queen (turn g)) by (eapply sees_own; eauto).
    repeat split; auto; [now apply One|]. now apply Two.
Qed.

Lemma sees_after g p m : sees g p -> legal w h p m -> sees (after g m) (play p m).
Proof.
  intros S Lm i I. destruct (legal_facts w h B p m Lm) as (F & T & C & A1 & A2 & A3 & A4 & A5).
  specialize (S i I). unfold after, play, put; simpl. rewrite !setbit_at, clearbit_at.
  destruct (N.eqb_spec (arrow m) i) as [<-|]; [simpl; rewrite ?orb_true_r; auto|].
  destruct (N.eqb_spec (to m) i) as [<-|].
  { simpl. rewrite A4. destruct (turn g); simpl; auto. }
  destruct (N.eqb_spec (from m) i) as [<-|]; simpl.
  { rewrite A2, andb_false_r. auto. }
  rewrite andb_true_r. destruct (board g i) as [|c|]; [|destruct c, (turn g)|]; simpl; tauto.
Qed.

(** Who wins with colours is who wins as the side to move sees it. *)
Theorem colours p : wins w h p -> forall g, sees g p -> side_wins (turn g) g.
Proof.
  intro W. revert p W.
  apply (wins_mut w h (fun p _ => forall g, sees g p -> side_wins (turn g) g)
                      (fun p _ => forall g, sees g p -> side_wins (other (turn g)) g)).
  - intros p m Lm Lo IH g S. apply own_turn with m; auto.
    + now apply can_move_legal with (p := p).
    + specialize (IH (after g m) (sees_after g p m S Lm)). simpl in IH. now destruct (turn g).
  - intros p All IH g S. apply other_turn; [now destruct (turn g)|].
    intros m M. apply can_move_legal with (p := p) in M; auto.
    apply (IH m M (after g m)). now apply sees_after.
Qed.

Theorem colours_lost p : loses w h p -> forall g, sees g p -> side_wins (other (turn g)) g.
Proof.
  intros Lo g S. inversion Lo; subst. apply other_turn; [now destruct (turn g)|].
  intros m M. apply can_move_legal with (p := p) in M; auto.
  apply (colours _ (H m M) (after g m)). now apply sees_after.
Qed.

End Colours.

(** * The starting positions *)

(** White queens on rank 1, on the second and on the last but one file, and on rank 2, on the first
    and on the last file; black queens on the mirrored squares at the top. White is to move. *)
Definition start_board (w h : N) (i : square) : content :=
  let x := i mod w in
  let y := i / w in
  let at_ (z : N) := ((z =? 0) && ((x =? 1) || (x =? w - 2))) || ((z =? 1) && ((x =? 0) || (x =? w - 1))) in
  if at_ y then Queen White else if at_ (h - 1 - y) then Queen Black else Empty.
Definition start (w h : N) : game := Game (start_board w h) White.

(** The words of a certificate for it. *)
Definition start_words (w h : N) : position :=
  let set c := fold_left (fun x i => match start_board w h i with
    | Queen d => if match c, d with White, White | Black, Black => true | _, _ => false end then N.setbit x i else x
    | _ => x end) (squares w h) 0 in
  Pos (set White) (set Black).

Definition start_at (w h i : N) : bool :=
  let a := wa (start_words w h) @ i in
  let b := wb (start_words w h) @ i in
  match start_board w h i with
  | Queen White => a && negb b
  | Queen Black => negb a && b
  | Empty => negb a && negb b
  | Burnt => false
  end.

Lemma start_all : on_all_boards (fun w h => forallb (start_at w h) (squares w h)) = true.
Proof. vm_compute. reflexivity. Qed.

Theorem sees_start w h : board_ok w h = true -> sees w h (start w h) (start_words w h).
Proof.
  intros B i I. pose proof (all_boards _ _ _ start_all B) as H. cbv beta in H.
  rewrite forallb_forall in H. specialize (H i I). unfold start_at in H.
  unfold start; cbn [board turn]. destruct (start_board w h i) as [|[]|]; try discriminate H;
    apply andb_prop in H as [H1 H2];
    repeat match goal with X : negb _ = true |- _ => apply negb_true_iff in X end; split; assumption.
Qed.
