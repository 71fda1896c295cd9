const CONTROL = /^(?:begin|start\s+transaction|commit|end|abort|rollback|prepare\s+transaction)\b/i;
const ROLLBACK_TO = /^rollback\s+(?:(?:work|transaction)\s+)?to\b/i;

/** Whether the statement would begin or end a transaction behind the back of whoever owns it. */
export function isTransactionControl(sql: string): boolean {
  const statement = withoutLeadingComments(sql);
  return CONTROL.test(statement) && !ROLLBACK_TO.test(statement);
}

/** `ROLLBACK TO SAVEPOINT` repairs a transaction rather than ending it. */
export function isRollbackTo(sql: string): boolean {
  return ROLLBACK_TO.test(withoutLeadingComments(sql));
}

function withoutLeadingComments(sql: string): string {
  let rest = sql.trimStart();
  while (rest.startsWith('--') || rest.startsWith('/*')) {
    const end = rest.startsWith('--') ? rest.indexOf('\n') : rest.indexOf('*/', 2) + 1;
    if (end <= 0) return '';
    rest = rest.slice(end + 1).trimStart();
  }
  return rest;
}
