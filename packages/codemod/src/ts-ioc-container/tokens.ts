import { Node, type CallExpression, type NewExpression, type PropertyAccessExpression } from 'ts-morph';
import { declarationsOf } from '../core/names/declarations.js';
import type { Rewriter } from '../core/rewriter/rewriter.js';

/** A name that holds a `SingleToken`. */
export function isTokenName(node: Node): boolean {
  if (!Node.isIdentifier(node)) return false;
  return declarationsOf(node).some((one) => Node.isVariableDeclaration(one) && isNewToken(one.getInitializer()));
}

/** Whether the expression makes a `SingleToken`. */
export const isNewToken = (node: Node | undefined): boolean =>
  Node.isNewExpression(node) && node.getExpression().getText() === 'SingleToken';

/** `new SingleToken('IUsers')` becomes `'IUsers'`. */
export function convertNewToken(rewriter: Rewriter, node: NewExpression): void {
  if (!rewriter.names(node.getExpression(), 'SingleToken')) return;
  const [key, ...more] = node.getArguments();
  if (!key || more.length > 0) return;
  rewriter.replace(node, rewriter.text(key));
  rewriter.done('token', node.getExpression());
}

/** `token.resolve(scope)`: the token is a string now. */
export function convertToken(rewriter: Rewriter, call: CallExpression, called: PropertyAccessExpression): void {
  const [scope, ...more] = call.getArguments();
  if (called.getName() !== 'resolve' || !scope || more.length > 0) {
    rewriter.leave(call, `token.${called.getName()}`, 'lazy(key), or a factory of your own');
    return;
  }
  rewriter.replace(call, `${rewriter.text(scope)}.resolve(${rewriter.text(called.getExpression())})`);
  rewriter.done('token.resolve');
}
