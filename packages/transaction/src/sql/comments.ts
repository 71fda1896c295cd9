const MARK = /\/\*|\*\//g;

/** Where the comment that starts here ends in SQLite; nowhere where it is not closed. */
export function endOfFlatComment(sql: string, start: number): number | undefined {
  const index = sql.indexOf('*/', start + 2);
  return index === -1 ? undefined : index + 2;
}

/** Where it ends in PostgreSQL, in whose comments there may be others. */
export function endOfNestedComment(sql: string, start: number): number | undefined {
  let depth = 0;
  MARK.lastIndex = start;
  for (let mark = MARK.exec(sql); mark; mark = MARK.exec(sql)) {
    depth += mark[0] === '/*' ? 1 : -1;
    if (depth === 0) return MARK.lastIndex;
  }
  return undefined;
}
