import { Node, type CallExpression, type PropertyAccessExpression } from 'ts-morph';
import { SEE_TABLE } from '../core/advice.js';
import { replaceMethod } from '../core/calls/methods.js';
import type { Rewriter } from '../core/rewriter/rewriter.js';
import { METHODS } from './advice.js';
import { convertBind, receiver } from './bind.js';
import { isContext } from './context.js';
import { isLeftModule, moduleOf } from './modules.js';

/** Converts a call of `bind`, or of another method of the container. */
export function convertCall(rewriter: Rewriter, call: CallExpression, isSingleton: boolean | undefined): void {
  if (convertBind(rewriter, call, isSingleton)) return;
  const called = call.getExpression();
  if (!Node.isPropertyAccessExpression(called)) {
    if (Node.isIdentifier(called) && called.getText() === 'isBound' && moduleOf(rewriter, call)) {
      rewriter.replace(called, `${receiver(rewriter, undefined, call)}.has`);
      rewriter.done('isBound');
    }
    return;
  }
  const object = called.getExpression();
  const isOfContext =
    isContext(rewriter, object) ||
    (Node.isPropertyAccessExpression(object) && isContext(rewriter, object.getExpression()));
  if (isOfContext || rewriter.containers.has(object)) convertMethod(rewriter, call, called, isOfContext);
}

function convertMethod(
  rewriter: Rewriter,
  call: CallExpression,
  called: PropertyAccessExpression,
  isOfContext: boolean,
): void {
  const method = called.getName();
  const args = call.getArguments();
  const rename = (to: string) => {
    rewriter.replace(called.getNameNode(), to);
    rewriter.done(`container.${method}`);
  };
  const parent = call.getParent();
  if (method === 'resolve' && args.length === 1) rewriter.done('container.resolve');
  else if (method === 'get' && args.length === 1) rename('resolve');
  else if (method === 'getAll' && args.length === 1 && !isOfContext) rename('resolveAll');
  else if (method === 'getAsync' && args.length === 1 && Node.isAwaitExpression(parent)) rename('resolve');
  else if (method === 'isBound' && args.length === 1 && !isOfContext) rename('has');
  else if (method === 'createChild' && args.length === 0) {
    replaceMethod(rewriter, call, called, 'createScope()');
    rewriter.done('container.createChild');
  } else if (method === 'load' && isConvertibleLoad(rewriter, call)) {
    const container = rewriter.text(called.getExpression());
    const lines = args.map((one) =>
      Node.isSpreadElement(one)
        ? `for (const load of ${rewriter.text(one.getExpression())}) load(${container})`
        : `${rewriter.text(one)}(${container})`,
    );
    rewriter.replace(call, lines.join(`${rewriter.style.semicolon}\n${call.getIndentationText()}`));
    rewriter.done('container.load');
  } else if (method !== 'bind') rewriter.leave(call, `container.${method}`, METHODS[method] ?? SEE_TABLE);
}

/** Whether the modules that `load` gets were converted, and nothing uses its result. */
const isConvertibleLoad = (rewriter: Rewriter, call: CallExpression): boolean =>
  Node.isExpressionStatement(call.getParent()) &&
  call.getArguments().length > 0 &&
  !call.getArguments().some((one) => isLeftModule(rewriter, one));
