import { Node, type CallExpression } from 'ts-morph';
import type { Rewriter } from '../core/rewriter/rewriter.js';
import { bindingOf, registrationOf } from './binding.js';
import { moduleOf, moduleParameter } from './modules.js';

/** `bind(...)` and what follows becomes `addRegistration(...)`. Returns whether the call is one of `bind`. */
export function convertBind(rewriter: Rewriter, call: CallExpression, isSingleton: boolean | undefined): boolean {
  const binding = bindingOf(call);
  if (!binding || !isBind(rewriter, binding.container, call)) return false;
  const isOpen =
    isSingleton === undefined && !call.getText().match(/\.in(?:Singleton|Transient)Scope\(|\.toConstantValue\(/);
  const text = isOpen
    ? {
        construct: 'bind without a scope',
        advice: 'containers differ in defaultScope: add .pipe(singleton()) where it was Singleton',
      }
    : registrationOf(rewriter, binding, isSingleton ?? false);
  if (typeof text !== 'string') {
    rewriter.leave(call, text.construct, text.advice);
    return true;
  }
  rewriter.replace(call, `${receiver(rewriter, binding.container, call)}.addRegistration(${text})`);
  rewriter.done(`bind.${binding.links[0]?.name}`);
  if (/toDynamicValue\(\s*async/.test(call.getText()))
    rewriter.check(call, 'async toDynamicValue', 'who injects it receives the promise, and awaits it');
  return true;
}

/** Whether `bind` is that of a container or of a module, also where the type of the receiver is not known. */
function isBind(rewriter: Rewriter, container: Node | undefined, call: CallExpression): boolean {
  if (!container) return moduleOf(rewriter, call) !== undefined;
  if (rewriter.containers.has(container)) return true;
  return (
    Node.isIdentifier(container) && moduleOf(rewriter, call)?.getParameters()[0]?.getName() === container.getText()
  );
}

/** What `addRegistration` is called on. */
export function receiver(rewriter: Rewriter, container: Node | undefined, call: CallExpression): string {
  const module = moduleOf(rewriter, call);
  if (
    !container ||
    (module && Node.isIdentifier(container) && module.getParameters()[0]?.getName() === container.getText())
  )
    return module ? moduleParameter(module) : 'container';
  return rewriter.text(container);
}
