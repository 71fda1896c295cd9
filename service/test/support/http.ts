export interface Request {
  readonly method?: string;
  readonly path: string;
  /** Sent as JSON, unless it is text. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface JsonResponse<T> {
  readonly status: number;
  readonly headers: Headers;
  readonly body: T;
}

/** One request over real HTTP; the response must be JSON, as all responses are. */
export async function request<T>(
  url: string,
  { method = 'GET', path, body, headers = {} }: Request,
): Promise<JsonResponse<T>> {
  const content = body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) };
  const response = await fetch(`${url}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...content,
  });
  return { status: response.status, headers: response.headers, body: (await response.json()) as T };
}
