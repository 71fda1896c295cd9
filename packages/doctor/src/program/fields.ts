import type { Decorator, Node } from 'oxc-parser';
import { is, isClass, propertyName } from './syntax.js';

/** A field of a class, whether it is declared or a parameter of the constructor. */
export interface Field {
  readonly name: string;
  readonly type: Node | undefined;
  readonly init: Node | undefined;
  readonly decorators: readonly Decorator[];
}

export const fieldOf = (owner: Node, name: string): Field | undefined =>
  fieldsOf(owner).find((field) => field.name === name);

export function fieldsOf(owner: Node): Field[] {
  if (!isClass(owner)) return [];
  return owner.body.body.flatMap((member) => {
    const { decorators = [] } = member as { decorators?: Decorator[] };
    if (is(member, 'PropertyDefinition'))
      return {
        name: propertyName(member) ?? '',
        type: member.typeAnnotation ?? undefined,
        init: member.value ?? undefined,
        decorators,
      };
    if (!is(member, 'MethodDefinition') || member.kind !== 'constructor') return [];
    return member.value.params.flatMap((parameter) => {
      if (!is(parameter, 'TSParameterProperty')) return [];
      const pattern = is(parameter.parameter, 'AssignmentPattern') ? parameter.parameter.left : parameter.parameter;
      if (!is(pattern, 'Identifier')) return [];
      const type = 'typeAnnotation' in pattern ? pattern.typeAnnotation : undefined;
      return {
        name: pattern.name,
        type: type ?? undefined,
        init: undefined,
        decorators: parameter.decorators ?? [],
      };
    });
  });
}

export const decoratorName = ({ expression }: Decorator): string | undefined => {
  const callee = is(expression, 'CallExpression') ? expression.callee : expression;
  return is(callee, 'Identifier') ? callee.name : is(callee, 'MemberExpression') ? propertyName(callee) : undefined;
};
