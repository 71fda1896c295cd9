/** What a stream says to the tabs that share it. The data is JSON: each tab parses its own copy. */
export type StreamMessage =
  | { readonly kind: 'hello' | 'tick'; readonly data: string }
  /** To a tab that joins a stream that is open: it has to get the state by itself. */
  | { readonly kind: 'live' }
  | { readonly kind: 'reconnecting' };
