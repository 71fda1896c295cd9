/** For a construct without advice of its own. */
export const SEE_TABLE = 'see the table of constructs';
