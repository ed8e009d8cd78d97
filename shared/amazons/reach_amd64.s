#include "textflag.h"

// The squares that a step may enter without a wrap round the edge of the grid, one lane a direction: along the
// rank, along the file, along the diagonal and along the other diagonal, to higher numbers (up) and to lower ones
// (down). step has how far a step goes.
DATA up<>+0(SB)/8, $0xfefefefefefefefe
DATA up<>+8(SB)/8, $0xffffffffffffffff
DATA up<>+16(SB)/8, $0xfefefefefefefefe
DATA up<>+24(SB)/8, $0x7f7f7f7f7f7f7f7f
GLOBL up<>(SB), RODATA|NOPTR, $32
DATA down<>+0(SB)/8, $0x7f7f7f7f7f7f7f7f
DATA down<>+8(SB)/8, $0xffffffffffffffff
DATA down<>+16(SB)/8, $0x7f7f7f7f7f7f7f7f
DATA down<>+24(SB)/8, $0xfefefefefefefefe
GLOBL down<>(SB), RODATA|NOPTR, $32
DATA step<>+0(SB)/8, $1
DATA step<>+8(SB)/8, $8
DATA step<>+16(SB)/8, $9
DATA step<>+24(SB)/8, $7
GLOBL step<>(SB), RODATA|NOPTR, $32

// fill lets own (Y2 upwards, Y3 downwards) and opp (Y4, Y5) grow by Y6 squares in each direction, over squares that
// are open for all of these (Y0, Y1).
#define fill \
	VPSLLVQ Y6, Y2, Y8   \
	VPSRLVQ Y6, Y3, Y9   \
	VPSLLVQ Y6, Y4, Y10  \
	VPSRLVQ Y6, Y5, Y11  \
	VPAND   Y0, Y8, Y8   \
	VPAND   Y1, Y9, Y9   \
	VPAND   Y0, Y10, Y10 \
	VPAND   Y1, Y11, Y11 \
	VPOR    Y8, Y2, Y2   \
	VPOR    Y9, Y3, Y3   \
	VPOR    Y10, Y4, Y4  \
	VPOR    Y11, Y5, Y5

// double leaves open the squares where twice as many steps lead to over open squares alone.
#define double \
	VPSLLVQ Y6, Y0, Y8 \
	VPSRLVQ Y6, Y1, Y9 \
	VPADDQ  Y6, Y6, Y6 \
	VPAND   Y8, Y0, Y0 \
	VPAND   Y9, Y1, Y1

// func reaches(own, opp, empty Set) (ownReach, oppReach Set)
TEXT ·reaches(SB), NOSPLIT, $0-40
	VPBROADCASTQ own+0(FP), Y2
	VPBROADCASTQ opp+8(FP), Y4
	VPBROADCASTQ empty+16(FP), Y0
	VMOVDQU      step<>(SB), Y6
	VPAND        down<>(SB), Y0, Y1
	VPAND        up<>(SB), Y0, Y0
	VMOVDQA      Y2, Y3
	VMOVDQA      Y4, Y5

	fill   // one step
	double
	fill   // up to three
	double
	fill   // up to seven

	// All directions together. The first word is own, the second opp.
	VPOR         Y3, Y2, Y2
	VPOR         Y5, Y4, Y4
	VPUNPCKLQDQ  Y4, Y2, Y8
	VPUNPCKHQDQ  Y4, Y2, Y9
	VPOR         Y9, Y8, Y8
	VEXTRACTI128 $1, Y8, X9
	VPOR         X9, X8, X8
	VMOVQ        X8, CX
	VPEXTRQ      $1, X8, DX

	// Without the squares that it began from.
	MOVQ  own+0(FP), AX
	MOVQ  opp+8(FP), BX
	ANDNQ CX, AX, CX
	ANDNQ DX, BX, DX
	MOVQ  CX, ownReach+24(FP)
	MOVQ  DX, oppReach+32(FP)
	VZEROUPPER
	RET
