import { Node, type ArrowFunction, type FunctionExpression, type NewExpression } from 'ts-morph';
import { declarationsOf } from '../core/names/declarations.js';
import type { Rewriter } from '../core/rewriter/rewriter.js';

/** `new ContainerModule((bind) => ...)` is a function that takes the container. */
export function convertModule(rewriter: Rewriter, node: NewExpression): void {
  if (!rewriter.names(node.getExpression(), 'ContainerModule')) return;
  const made = node.getArguments()[0];
  const isFunction = Node.isArrowFunction(made) || Node.isFunctionExpression(made);
  if (!isFunction || !isConvertible(made)) return;
  const type = rewriter.style.isTypeScript ? `: ${rewriter.useType('Container')}` : '';
  const result = rewriter.style.isTypeScript ? ': void' : '';
  rewriter.replace(node, `(${moduleParameter(made)}${type})${result} => ${rewriter.text(made.getBody())}`);
  rewriter.done('ContainerModule', node.getExpression());
  for (const parameter of made.getParameters()) rewriter.consume(parameter);
}

/** The name of the container in the function of a module. */
export const moduleParameter = (made: ArrowFunction | FunctionExpression): string =>
  /\bcontainer\b/.test(made.getText()) ? 'target' : 'container';

/** Whether the function of a module only calls `bind` and `isBound`: it does not pass them on or remove bindings. */
function isConvertible(made: ArrowFunction | FunctionExpression): boolean {
  if (made.isAsync()) return false;
  const [first] = made.getParameters();
  const options =
    first && Node.isIdentifier(first.getNameNode()) && first.getName() !== 'bind' ? first.getName() : undefined;
  const names = new Set(made.getParameters().flatMap((one) => namesIn(one.getNameNode())));
  return made
    .getBody()
    .getDescendants()
    .every((node) => {
      if (!Node.isIdentifier(node) || !names.has(node.getText())) return true;
      const parent = node.getParent();
      if (Node.isPropertyAccessExpression(parent)) {
        if (parent.getNameNode() === node) return true;
        return node.getText() === options && isCalled(parent) && ['bind', 'isBound'].includes(parent.getName());
      }
      return isCalled(node) && ['bind', 'isBound'].includes(node.getText());
    });
}

const namesIn = (name: Node): string[] =>
  Node.isIdentifier(name)
    ? [name.getText()]
    : name.getDescendants().flatMap((one) => (Node.isBindingElement(one) ? [one.getName()] : []));

function isCalled(node: Node): boolean {
  const parent = node.getParent();
  return Node.isCallExpression(parent) && parent.getExpression() === node;
}

/** Whether the node is in a module that stays as it is. */
export function isInLeftModule(rewriter: Rewriter, node: Node): boolean {
  const module = node.getFirstAncestor(
    (one) => Node.isNewExpression(one) && rewriter.names(one.getExpression(), 'ContainerModule'),
  );
  return module !== undefined && moduleOf(rewriter, node) === undefined;
}

/** Whether the expression is a module that stays as it is. */
export function isLeftModule(rewriter: Rewriter, node: Node): boolean {
  return declarationsOf(node).some((one) => {
    const made = Node.isVariableDeclaration(one) ? one.getInitializer() : undefined;
    if (!Node.isNewExpression(made) || rewriter.origin(made.getExpression()) === undefined) return false;
    const [work] = made.getArguments();
    return !(Node.isArrowFunction(work) || Node.isFunctionExpression(work)) || !isConvertible(work);
  });
}

/** The function of the module around the node. */
export function moduleOf(rewriter: Rewriter, node: Node): ArrowFunction | FunctionExpression | undefined {
  for (let at = node.getParent(); at; at = at.getParent()) {
    const parent = at.getParent();
    if (
      (Node.isArrowFunction(at) || Node.isFunctionExpression(at)) &&
      Node.isNewExpression(parent) &&
      rewriter.names(parent.getExpression(), 'ContainerModule') &&
      isConvertible(at)
    )
      return at;
  }
  return undefined;
}
