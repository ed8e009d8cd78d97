(* amazons-formal reads a plain export of a proof (master proof export --format plain), hands it to
   the verified program, and prints the verdict. It is the only OCaml here that no proof covers: it
   must read the lines right, and must not print "holds" without the verified program's true.

   Exit codes: 0 the proof holds; 20 it does not; 1 the file was not read; 64 wrong command line. *)

open Verified

exception Bad of string

let bad fmt = Printf.ksprintf (fun s -> raise (Bad s)) fmt

(* Numbers of the verified program are lists of bits, the lowest first. *)
let n_of_bits bits =
  (* bits: from the highest to the lowest *)
  List.fold_left
    (fun n bit ->
      match n, bit with
      | N0, false -> N0
      | N0, true -> Npos XH
      | Npos p, false -> Npos (XO p)
      | Npos p, true -> Npos (XI p))
    N0 bits

let n_of_int i =
  if i < 0 then bad "%d is negative" i;
  let rec bits i acc = if i = 0 then acc else bits (i / 2) ((i land 1 = 1) :: acc) in
  n_of_bits (bits i [])

let number s =
  match int_of_string_opt s with
  | Some i when i >= 0 && s.[0] >= '0' && s.[0] <= '9' -> i
  | _ -> bad "%S is not a number" s

(* A word of a position: 16 hexadecimal digits. *)
let word s =
  if String.length s <> 16 then bad "%S is not a word of 16 hexadecimal digits" s;
  let digit c =
    match c with
    | '0' .. '9' -> Char.code c - 48
    | 'a' .. 'f' -> Char.code c - 87
    | _ -> bad "%S is not a word of 16 hexadecimal digits" s
  in
  let bits = ref [] in
  String.iter
    (fun c ->
      let d = digit c in
      List.iter (fun k -> bits := (d land k <> 0) :: !bits) [ 8; 4; 2; 1 ])
    s;
  n_of_bits (List.rev !bits)

let position a b = { wa = word a; wb = word b }

(* A claim as people read it: the ranks from the top, each from file A. *)
let sentence width height a b side win =
  let bit x i = Int64.logand (Int64.shift_right_logical (Int64.of_string ("0x" ^ x)) i) 1L = 1L in
  let own, other = if side = "w" then ('W', 'B') else ('B', 'W') in
  let square i =
    match bit a i, bit b i with false, false -> '.' | true, false -> own | false, true -> other | true, true -> 'x'
  in
  let rank r = String.init width (fun f -> square ((width * r) + f)) in
  let ranks = List.init height (fun i -> rank (height - 1 - i)) in
  Printf.sprintf "%s %s: %s wins" (String.concat "/" ranks) side (if win = (side = "w") then "white" else "black")

let claim = function "win" -> true | "loss" -> false | s -> bad "the claim is %S, it must be win or loss" s
let side = function "w" | "b" -> () | s -> bad "the side to move is %S, it must be w or b" s

(* What is being read, in reverse. *)
type open_layer = { arrows : int; mutable c : claimed list; mutable e : (position * move) list }

type open_part = {
  name : string;
  rule_count : int;
  stated_entries : int;
  stated_citations : int;
  mutable r : claimed list;
  mutable l : open_layer list;
}

let close_layer l = { number = n_of_int l.arrows; cites = List.rev l.c; entries = List.rev l.e }
let total f l = List.fold_left (fun n x -> n + List.length (f x)) 0 l

let close_part p =
  let entries = total (fun l -> l.e) p.l and citations = total (fun l -> l.c) p.l in
  if entries <> p.stated_entries || citations <> p.stated_citations then
    bad "part %s has %d entries and %d citations, it states %d and %d" p.name entries citations p.stated_entries
      p.stated_citations;
  { rules = n_of_int p.rule_count; roots = List.rev p.r; layers = List.rev_map close_layer p.l }

type proof = { width : int; height : int; digest : string; most : int; claims : (claimed * string) list;
  parts : open_part list }

let read channel =
  let width = ref 0 and height = ref 0 and digest = ref "" and most = ref 0 in
  let claims = ref [] and parts = ref [] and ended = ref false and n = ref 0 in
  let part () = match !parts with p :: _ -> p | [] -> bad "no part has begun" in
  let layer () = match (part ()).l with l :: _ -> l | [] -> bad "no layer has begun" in
  (try
     while true do
       let line = input_line channel in
       incr n;
       if !ended then bad "something follows the end";
       match String.split_on_char ' ' line with
       | [ "amazons-plain"; "1" ] when !n = 1 -> ()
       | [ "board"; w; h ] when !n = 2 ->
         width := number w;
         height := number h
       | [ "file"; sum ] when !n = 3 -> digest := sum
       | [ "rules"; k ] when !n = 4 -> most := number k
       | [ "claim"; a; b; s; c ] when !n > 4 && !parts = [] ->
         side s;
         if !width > 8 || !height > 8 then bad "a board of %d x %d" !width !height;
         claims := ((position a b, claim c), sentence !width !height a b s (claim c)) :: !claims
       | [ "part"; name; "rules"; k; "entries"; e; "citations"; c ] when !n > 4 ->
         parts :=
           { name; rule_count = number k; stated_entries = number e; stated_citations = number c; r = []; l = [] }
           :: !parts
       | [ "root"; a; b; s; c ] when (part ()).l = [] ->
         side s;
         let p = part () in
         p.r <- (position a b, claim c) :: p.r
       | [ "layer"; k ] ->
         let p = part () in
         p.l <- { arrows = number k; c = []; e = [] } :: p.l
       | [ "cite"; a; b; c ] ->
         let l = layer () in
         l.c <- (position a b, claim c) :: l.c
       | [ "entry"; a; b; f; t; x ] ->
         let l = layer () in
         let sq s = n_of_int (number s) in
         l.e <- (position a b, { from = sq f; to0 = sq t; arrow = sq x }) :: l.e
       | [ "end" ] -> ended := true
       | _ -> bad "%S is not a line that can stand here" line
     done
   with
   | End_of_file -> if not !ended then bad "the file is cut short: it lacks its last line, \"end\""
   | Bad why -> bad "line %d: %s" !n why);
  if !claims = [] then bad "nothing is claimed";
  { width = !width; height = !height; digest = !digest; most = !most; claims = List.rev !claims;
    parts = List.rev !parts }

let check only_parts path =
  let channel = open_in_bin path in
  let p = Fun.protect ~finally:(fun () -> close_in channel) (fun () -> read channel) in
  let w = n_of_int p.width and h = n_of_int p.height in
  let parts = List.map (fun q -> (q, close_part q)) p.parts in
  let count f = List.fold_left (fun n q -> n + f q) 0 p.parts in
  let entries = count (fun q -> q.stated_entries) and citations = count (fun q -> q.stated_citations) in
  let begun = Sys.time () in
  let ok =
    if only_parts then List.for_all (fun (_, q) -> verify_part w h q) parts
    else verify w h (n_of_int p.most) (List.map fst p.claims) (List.map snd parts)
  in
  Printf.printf "%s: %s; board %dx%d, rules 1 to %d, parts %d, entries %d, citations %d, %.2f s\n" path
    (if not ok then "does not hold"
     else if only_parts then "holds if each citation is as claimed"
     else "holds")
    p.width p.height p.most (List.length parts) entries citations (Sys.time () -. begun);
  if not only_parts then
    List.iter (fun (_, s) -> Printf.printf "%s %s\n" (if ok then "proved " else "claimed") s) p.claims;
  Printf.printf "made from the file with SHA-256 %s\n" p.digest;
  ok

let () =
  let usage () =
    prerr_endline "usage: amazons-formal [--part] FILE...\n\
                   checks plain exports of proofs; --part lets a part cite what is not there";
    exit 64
  in
  let args = List.tl (Array.to_list Sys.argv) in
  let only_parts, files = match args with "--part" :: rest -> (true, rest) | _ -> (false, args) in
  if files = [] || List.exists (fun f -> String.length f > 0 && f.[0] = '-') files then usage ();
  let code = ref 0 in
  List.iter
    (fun f ->
      match check only_parts f with
      | true -> ()
      | false -> code := max !code 20
      | exception Bad why ->
        Printf.printf "%s: does not hold: %s\n" f why;
        code := max !code 20
      | exception Sys_error why ->
        prerr_endline why;
        code := max !code 1)
    files;
  exit !code
