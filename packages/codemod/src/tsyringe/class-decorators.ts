import { Node, type Decorator } from 'ts-morph';
import { SCOPED, singleton } from '../core/ambit/modifiers.js';
import { registration } from '../core/ambit/registrations.js';
import type { Rewriter } from '../core/rewriter/rewriter.js';
import { modifiersOf, optionsOf, serviceOf } from './provider.js';

/** The registrations that a class decorator stands for; undefined where Ambit has no equal. */
export function registrationsOf(
  rewriter: Rewriter,
  name: string,
  decorator: Decorator,
  own: string,
): string[] | undefined {
  const [first, second] = decorator.getArguments();
  const source = `fromClass(${own})`;
  switch (name) {
    case 'injectable': {
      const token = tokenOf(first);
      return first ? token && [registration(rewriter, { source, modifiers: [] }, rewriter.text(token))] : [];
    }
    case 'singleton':
      return [registration(rewriter, { source, modifiers: [singleton(rewriter)] }, own)];
    case 'scoped': {
      const modifiers = modifiersOf(rewriter, first);
      if (!modifiers) return undefined;
      if (modifiers.length > 1) rewriter.check(decorator, '@scoped(Lifecycle.ContainerScoped)', SCOPED);
      return [registration(rewriter, { source, modifiers }, second ? rewriter.text(second) : own)];
    }
    case 'registry': {
      if (!Node.isArrayLiteralExpression(first)) return undefined;
      const all = first.getElements().map((element) => ofRegistry(rewriter, element));
      return all.every((one) => one !== undefined) ? all : undefined;
    }
    default:
      return undefined;
  }
}

function ofRegistry(rewriter: Rewriter, element: Node): string | undefined {
  if (!Node.isObjectLiteralExpression(element)) return undefined;
  const token = tokenOf(element);
  const options = element.getProperty('options');
  const modifiers = optionsOf(rewriter, Node.isPropertyAssignment(options) ? options.getInitializer() : undefined);
  const service = modifiers && serviceOf(rewriter, element, modifiers);
  if (!service || !token) return undefined;
  if (options) rewriter.consume(options);
  return registration(rewriter, service, rewriter.text(token));
}

function tokenOf(options: Node | undefined): Node | undefined {
  if (!Node.isObjectLiteralExpression(options)) return undefined;
  const token = options.getProperty('token');
  const value = Node.isPropertyAssignment(token) ? token.getInitializer() : undefined;
  return Node.isArrayLiteralExpression(value) ? undefined : value;
}
