import type { CallExpression, PropertyAccessExpression } from 'ts-morph';
import type { Rewriter } from '../rewriter/rewriter.js';

/** Replaces the method and its arguments; what it is called on stays. */
export function replaceMethod(
  rewriter: Rewriter,
  call: CallExpression,
  called: PropertyAccessExpression,
  text: string,
): void {
  rewriter.replaceRange(called.getNameNode().getStart(), call.getEnd(), text);
}
