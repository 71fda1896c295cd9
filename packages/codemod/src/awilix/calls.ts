import { Node, type CallExpression } from 'ts-morph';
import { SEE_TABLE } from '../core/advice.js';
import { createRequestScope, newContainer } from '../core/ambit/containers.js';
import { replaceMethod } from '../core/calls/methods.js';
import type { Rewriter } from '../core/rewriter/rewriter.js';
import { METHODS, TYPED } from './advice.js';
import type { Mode } from './mode.js';
import { convertRegister } from './register.js';

/** Converts `createContainer` and calls of a method of the container. */
export function convertCall(rewriter: Rewriter, call: CallExpression, mode: Mode | undefined): void {
  const called = call.getExpression();
  const args = call.getArguments();
  if (rewriter.names(called, 'createContainer')) {
    if (args.length > 1 || (args[0] && !Node.isObjectLiteralExpression(args[0]))) return;
    rewriter.replace(call, newContainer(rewriter));
    rewriter.done('createContainer', called, ...args);
    return;
  }
  if (!Node.isPropertyAccessExpression(called) || !rewriter.containers.has(called.getExpression())) return;
  const method = called.getName();
  switch (method) {
    case 'register':
      convertRegister(rewriter, call, called, mode);
      return;
    case 'createScope':
      replaceMethod(rewriter, call, called, createRequestScope(rewriter));
      rewriter.done('container.createScope');
      return;
    case 'hasRegistration':
      rewriter.replace(called.getNameNode(), 'has');
      rewriter.done('container.hasRegistration');
      return;
    case 'resolve':
    case 'dispose':
      if (args.length <= 1) {
        rewriter.done(`container.${method}`);
        if (method === 'resolve' && rewriter.style.isTypeScript && call.getTypeArguments().length === 0)
          rewriter.check(call, 'resolve without a type', TYPED);
      } else
        rewriter.leave(
          call,
          'container.resolve with options',
          "optional('key') in a list of keys, or container.has(key) first",
        );
      return;
    default:
      rewriter.leave(call, `container.${method}`, METHODS[method] ?? SEE_TABLE);
  }
}
