import { Node, type ClassDeclaration, type Decorator } from 'ts-morph';
import type { Rewriter } from '../rewriter/rewriter.js';

/** The decorators of the library on the node, by the name that it exports. */
export function decoratorsOf(rewriter: Rewriter, node: { getDecorators(): Decorator[] }): Map<string, Decorator> {
  const found = new Map<string, Decorator>();
  for (const decorator of node.getDecorators()) {
    const name = rewriter.origin(nameOf(decorator));
    if (name !== undefined) found.set(name, decorator);
  }
  return found;
}

/** What stands after the `@`, without its call. */
export function nameOf(decorator: Decorator): Node {
  const expression = decorator.getExpression();
  return Node.isCallExpression(expression) ? expression.getExpression() : expression;
}

/** Whether a parameter of the constructor has a decorator of the library. */
export const isInjected = (rewriter: Rewriter, declaration: ClassDeclaration): boolean =>
  declaration
    .getConstructors()
    .some((one) => one.getParameters().some((parameter) => decoratorsOf(rewriter, parameter).size > 0));
