import { Node, type ClassDeclaration } from 'ts-morph';
import { suffix } from '../core/ambit/registrations.js';
import { chainOf, type Link } from '../core/calls/chain.js';
import { decoratorsOf } from '../core/classes/decorators.js';
import { declarationsOf } from '../core/names/declarations.js';
import type { Rewriter } from '../core/rewriter/rewriter.js';
import { modifierOf } from './modifiers.js';
import { planOf } from './plan.js';

/** `R.fromClass(Users).pipe(singleton()).to('users')`, whatever the order of its calls. */
export function registrationOf(rewriter: Rewriter, node: Node): string | undefined {
  const chain = chainOf(node, (call) => {
    const called = call.getExpression();
    return Node.isPropertyAccessExpression(called) && rewriter.names(called.getExpression(), 'Registration');
  });
  const called = chain?.base.getExpression();
  const [argument, ...more] = chain?.base.getArguments() ?? [];
  if (!chain || !Node.isPropertyAccessExpression(called) || !argument || more.length > 0) return undefined;
  const base = baseOf(rewriter, called.getName(), argument);
  const end = endOf(rewriter, chain.links);
  if (!base || !end) return undefined;
  if (base.hasKey) return end.modifiers.length === 0 && end.key === undefined ? base.text : undefined;
  const ownKey = called.getName() === 'fromClass' ? rewriter.style.string(argument.getText()) : undefined;
  const key = end.key ?? ownKey;
  return key === undefined ? undefined : base.text + suffix(end.modifiers, key);
}

/** What a registration begins with. */
interface Base {
  readonly text: string;
  /** Whether it is complete: the decorators of the class name the key. */
  readonly hasKey: boolean;
}

function baseOf(rewriter: Rewriter, name: string, argument: Node): Base | undefined {
  const made = (source: string): Base => ({
    text: `${rewriter.use('Registration')}.${source}(${rewriter.text(argument)})`,
    hasKey: false,
  });
  switch (name) {
    case 'fromValue':
      return made('fromValue');
    case 'fromFn': {
      const takesMore = Node.isArrowFunction(argument) && argument.getParameters().length > 1;
      return takesMore ? undefined : made('fromFactory');
    }
    case 'fromClass': {
      const declaration = decoratedClass(rewriter, argument);
      return declaration ? ofDecorated(rewriter, declaration) : made('fromClass');
    }
    default:
      return undefined;
  }
}

/** The class behind the name, if it has decorators of the library. */
function decoratedClass(rewriter: Rewriter, name: Node): ClassDeclaration | undefined {
  const declarations = Node.isIdentifier(name) ? declarationsOf(name) : [];
  const declaration = declarations.find((one) => Node.isClassDeclaration(one));
  return declaration && decoratorsOf(rewriter, declaration).size > 0 ? declaration : undefined;
}

/** The registration that stands after the class in place of its decorators. */
function ofDecorated(rewriter: Rewriter, declaration: ClassDeclaration): Base | undefined {
  const plan = planOf(rewriter, declaration);
  if (!plan) return undefined;
  const file = declaration.getSourceFile();
  const text = file === rewriter.file ? plan.name : rewriter.use(plan.name, file.getFilePath());
  return { text, hasKey: plan.key !== undefined };
}

/** The modifiers and the key that the calls after the base name; undefined where Ambit has no equal. */
function endOf(
  rewriter: Rewriter,
  links: readonly Link[],
): { modifiers: readonly string[]; key: string | undefined } | undefined {
  const modifiers: string[] = [];
  let key: string | undefined;
  for (const { name, args } of links) {
    const [argument, ...more] = args;
    if (name === 'pipe') {
      for (const one of args) {
        const modifier = modifierOf(rewriter, one);
        if (modifier === undefined) return undefined;
        modifiers.push(modifier);
      }
      continue;
    }
    if (!argument || more.length > 0) return undefined;
    if (name === 'when') modifiers.push(`${rewriter.use('scope')}(${rewriter.text(argument)})`);
    else if (KEYED.has(name) && key === undefined) key = rewriter.text(argument);
    else return undefined;
  }
  return { modifiers, key };
}

const KEYED = new Set(['to', 'bindTo', 'bindToKey']);
