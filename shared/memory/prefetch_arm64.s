#include "textflag.h"

// func Prefetch(a, b unsafe.Pointer)
TEXT ·Prefetch(SB), NOSPLIT, $0-16
	MOVD a+0(FP), R0
	MOVD b+8(FP), R1
	PRFM (R0), PLDL1KEEP
	PRFM (R1), PLDL1KEEP
	RET
