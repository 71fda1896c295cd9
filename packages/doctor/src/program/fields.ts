import type { Decorator, Node } from 'oxc-parser';
import { is, isClass, propertyName } from './syntax.js';

/** A field of a class, whether it is declared or a parameter of the constructor. */
export interface Field {
  readonly type: Node | undefined;
  readonly init: Node | undefined;
  readonly decorators: readonly Decorator[];
  readonly isStatic: boolean;
}

export function fieldOf(owner: Node, name: string): Field | undefined {
  if (!isClass(owner)) return undefined;
  for (const member of owner.body.body) {
    if (is(member, 'PropertyDefinition') && propertyName(member) === name)
      return {
        type: member.typeAnnotation ?? undefined,
        init: member.value ?? undefined,
        decorators: member.decorators ?? [],
        isStatic: member.static,
      };
    if (!is(member, 'MethodDefinition') || member.kind !== 'constructor') continue;
    for (const parameter of member.value.params) {
      if (!is(parameter, 'TSParameterProperty')) continue;
      const pattern = is(parameter.parameter, 'AssignmentPattern') ? parameter.parameter.left : parameter.parameter;
      if (!is(pattern, 'Identifier') || pattern.name !== name) continue;
      const type = 'typeAnnotation' in pattern ? pattern.typeAnnotation : undefined;
      return { type: type ?? undefined, init: undefined, decorators: parameter.decorators ?? [], isStatic: false };
    }
  }
  return undefined;
}

export const decoratorName = ({ expression }: Decorator): string | undefined => {
  const callee = is(expression, 'CallExpression') ? expression.callee : expression;
  return is(callee, 'Identifier') ? callee.name : is(callee, 'MemberExpression') ? propertyName(callee) : undefined;
};
