import { Node, type CallExpression } from 'ts-morph';
import { SEE_TABLE } from '../core/advice.js';
import { createRequestScope } from '../core/ambit/containers.js';
import { singleton } from '../core/ambit/modifiers.js';
import { registration } from '../core/ambit/registrations.js';
import { replaceMethod } from '../core/calls/methods.js';
import { isClass, isToken } from '../core/names/kinds.js';
import type { Rewriter } from '../core/rewriter/rewriter.js';
import { METHODS } from './advice.js';
import { isFactoryParameter } from './factories.js';
import { optionsOf, serviceOf } from './provider.js';

const REGISTRATION = 'container.addRegistration(Registration.fromClass(...).to(key))';

/** Converts a call of a method of the container. */
export function convertCall(rewriter: Rewriter, call: CallExpression): void {
  const called = call.getExpression();
  if (!Node.isPropertyAccessExpression(called) || !rewriter.containers.has(called.getExpression())) return;
  const method = called.getName();
  const become = (text: string) => {
    replaceMethod(rewriter, call, called, text);
    rewriter.done(`container.${method}`);
  };
  const args = call.getArguments();
  const [token, provider, options] = args;
  if (method !== 'resolve' && isFactoryParameter(called.getExpression())) {
    rewriter.leave(
      call,
      `container.${method} in a factory`,
      'a list of keys, with all(key) or optional(key): a factory receives an IContainer',
    );
    return;
  }
  switch (method) {
    case 'resolve':
    case 'resolveAll':
      if (args.length === 1) rewriter.done(`container.${method}`);
      else rewriter.leave(call, `container.${method} with more than a token`, 'container.resolve(key)');
      return;
    case 'dispose':
      rewriter.done('container.dispose');
      return;
    case 'isRegistered':
      if (token) become(`has(${rewriter.text(token)})`);
      return;
    case 'createChildContainer':
      become(createRequestScope(rewriter));
      return;
    case 'register':
    case 'registerSingleton':
    case 'registerInstance':
    case 'registerType': {
      const text = token && registering(rewriter, method, token, provider, options);
      if (text === undefined) {
        rewriter.leave(call, `container.${method}`, rewriter.adviceWithin(call, REGISTRATION));
        return;
      }
      if (options) rewriter.consume(options);
      become(`addRegistration(${text})`);
      return;
    }
    default:
      rewriter.leave(call, `container.${method}`, METHODS[method] ?? SEE_TABLE);
  }
}

/** The registration that `register` and its variants stand for; undefined where Ambit has no equal. */
function registering(
  rewriter: Rewriter,
  method: string,
  token: Node,
  provider: Node | undefined,
  options: Node | undefined,
): string | undefined {
  const key = rewriter.text(token);
  if (method === 'registerInstance')
    return provider && registration(rewriter, { source: `fromValue(${rewriter.text(provider)})`, modifiers: [] }, key);
  if (method === 'register') {
    const modifiers = optionsOf(rewriter, options);
    const service = modifiers && serviceOf(rewriter, provider, modifiers);
    return service && registration(rewriter, service, key);
  }
  const target = provider ?? token;
  const modifiers = method === 'registerSingleton' ? [singleton(rewriter)] : [];
  if (isToken(target)) return registration(rewriter, { source: `alias(${rewriter.text(target)})`, modifiers: [] }, key);
  if (!isClass(rewriter.origins, target)) return undefined;
  return registration(rewriter, { source: `fromClass(${rewriter.text(target)})`, modifiers }, key);
}
