import { Node, type CallExpression, type PropertyAccessExpression } from 'ts-morph';
import { SCOPED } from '../core/ambit/modifiers.js';
import { addRegistration, registration } from '../core/ambit/registrations.js';
import { replaceMethod } from '../core/calls/methods.js';
import type { Rewriter } from '../core/rewriter/rewriter.js';
import { RESOLVER } from './advice.js';
import type { Mode } from './mode.js';
import { serviceOf } from './resolver.js';

/** `container.register(...)` becomes `addRegistration(...)`; resolvers without an equal stay in a `register`. */
export function convertRegister(
  rewriter: Rewriter,
  call: CallExpression,
  called: PropertyAccessExpression,
  mode: Mode | undefined,
): void {
  const [first, resolver] = call.getArguments();
  const entries = Node.isObjectLiteralExpression(first)
    ? first.getProperties().map((node) => ({
        node: node as Node,
        key: Node.isPropertyAssignment(node) ? keyText(rewriter, node.getNameNode()) : undefined,
        resolver: Node.isPropertyAssignment(node) ? node.getInitializer() : undefined,
      }))
    : first && resolver
      ? [{ node: call as Node, key: rewriter.text(first), resolver }]
      : [];
  const lines: string[] = [];
  const left: Node[] = [];
  for (const { node, key, resolver: made } of entries) {
    const service = serviceOf(rewriter, made, mode);
    if (key === undefined || 'construct' in service) {
      const { construct, advice } =
        'construct' in service ? service : { construct: 'spread in register', advice: RESOLVER };
      rewriter.leave(node, construct, advice);
      left.push(node);
      continue;
    }
    lines.push(registration(rewriter, service, key));
    rewriter.done(`register ${baseOf(made)}`, made);
    if (service.modifiers.length > 1 && service.modifiers[1]?.includes('hasTag'))
      rewriter.check(node, 'scoped()', SCOPED);
  }
  if (entries.length === 0) rewriter.leave(call, 'container.register', RESOLVER);
  if (lines.length === 0) return;
  const indent = rewriter.style.indentAt(called.getNameNode().getStart());
  const rest = left.length > 0 ? `.register({ ${left.map((one) => one.getText()).join(', ')} })` : '';
  replaceMethod(rewriter, call, called, `${addRegistration(lines, indent)}${rest}`);
}

/** `asClass` of `asClass(Users).scoped()`. */
const baseOf = (node: Node | undefined): string =>
  /as(?:Class|Function|Value)|aliasTo/.exec(node?.getText() ?? '')?.[0] ?? '';

function keyText(rewriter: Rewriter, name: Node): string {
  if (Node.isComputedPropertyName(name)) return rewriter.text(name.getExpression());
  return Node.isStringLiteral(name) ? rewriter.text(name) : rewriter.style.string(name.getText());
}
