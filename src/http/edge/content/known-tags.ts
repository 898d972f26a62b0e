/** Entity tags in request headers (RFC 9110 sections 8.8.3 and 13.1). */
import type { HttpRequest } from '../request.ts'

/** True when `If-None-Match` of a read names the tag, or any. A malformed header names none. */
export function isKnownTag(request: HttpRequest, tag: string): boolean {
  const header = request.header('if-none-match')
  if (header === undefined) return false
  const named = readTags(header, { weak: true })
  return named !== null && (named === '*' || named.includes(tag))
}

/** Null for a malformed header. @param options.weak false leaves out weak tags, which a strong comparison never matches. */
export function readTags(header: string, { weak }: { readonly weak: boolean }): '*' | readonly string[] | null {
  if (header.trim() === '*') return '*'
  const tags: string[] = []
  for (const part of header.split(',')) {
    const found = /^\s*(W\/)?"([\x21\x23-\x7e\x80-\xff]*)"\s*$/.exec(part)
    const [, isWeak, tag] = found ?? []
    if (tag === undefined) return null
    if (weak || isWeak === undefined) tags.push(tag)
  }
  return tags
}
