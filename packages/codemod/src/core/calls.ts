import { type CallExpression, Node, type PropertyAccessExpression } from 'ts-morph';
import type { Rewriter } from './rewriter.js';

/** One call of a chain: `.inSingletonScope()`. */
export interface Link {
  readonly name: string;
  readonly args: readonly Node[];
}

/** `asClass(Users).scoped()`: the call that it begins with, and what follows. */
export interface Chain {
  readonly base: CallExpression;
  readonly links: readonly Link[];
}

/** Reads a chain of calls from its outermost one; undefined where no call in it is its base. */
export function chainOf(outermost: Node | undefined, isBase: (call: CallExpression) => boolean): Chain | undefined {
  const links: Link[] = [];
  let call = outermost;
  while (Node.isCallExpression(call)) {
    if (isBase(call)) return { base: call, links: links.toReversed() };
    const called: Node = call.getExpression();
    if (!Node.isPropertyAccessExpression(called)) return undefined;
    links.push({ name: called.getName(), args: call.getArguments() });
    call = called.getExpression();
  }
  return undefined;
}

/** Replaces the method and its arguments; what it is called on stays. */
export function replaceMethod(
  rewriter: Rewriter,
  call: CallExpression,
  called: PropertyAccessExpression,
  text: string,
): void {
  rewriter.replaceRange(called.getNameNode().getStart(), call.getEnd(), text);
}
