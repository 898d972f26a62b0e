/** Serves the files of an application. Each request reads the file, so that an edit takes effect immediately. */
import { hash } from 'node:crypto'
import { readFile, realpath, stat } from 'node:fs/promises'
import { extname, join, sep } from 'node:path'
import { ConfigError } from '../../../config/config-error.ts'
import { isKnownTag } from './known-tags.ts'
import type { HttpResponse } from '../response.ts'
import type { HttpRequest } from '../request.ts'

const types: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.mjs': 'text/javascript; charset=utf-8',
  '.json': 'application/json',
  '.map': 'application/json',
  '.webmanifest': 'application/manifest+json',
  '.txt': 'text/plain; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.jpg': 'image/jpeg',
  '.jpeg': 'image/jpeg',
  '.gif': 'image/gif',
  '.webp': 'image/webp',
  '.ico': 'image/x-icon',
  '.woff2': 'font/woff2',
  '.wasm': 'application/wasm',
}

/** @throws ConfigError when the setting names a folder that does not exist. */
export async function requireFolder(setting: string, folder: string): Promise<void> {
  const found = await stat(folder).catch((error: unknown) => {
    if (isMissing(error)) return null
    throw error
  })
  if (found?.isDirectory() !== true) throw new ConfigError(`Cannot use ${setting}: ${folder} is not a folder.`)
}

/** @returns null when the file does not exist, or its type is not served. */
export async function fileResponse(
  request: HttpRequest,
  folder: string,
  path: readonly string[],
): Promise<HttpResponse | null> {
  const type = types[extname(path.at(-1) ?? '').toLowerCase()]
  if (type === undefined || !path.every(isPlain)) return null
  const bytes = await bytesOf(folder, path)
  if (bytes === null) return null
  // HTML pages are never cached, because they refer to the other files. An unchanged file is not sent again.
  return cachedFile(request, { type, body: bytes, cache: type.startsWith('text/html') ? 'no-store' : revalidated })
}

/** The browser asks each time whether the file has changed. */
export const revalidated = 'public, max-age=0, must-revalidate'

/** Returns a file with a tag of its content; 304 when the browser has this version. */
export function cachedFile(
  request: HttpRequest,
  file: { readonly type: string; readonly body: string | Uint8Array<ArrayBuffer>; readonly cache: string },
): HttpResponse {
  const tag = hash('sha256', file.body, 'base64url').slice(0, 22)
  const headers = { 'Content-Type': file.type, ETag: `"${tag}"`, 'Cache-Control': file.cache }
  return isKnownTag(request, tag) ? { status: 304, headers, body: null } : { status: 200, headers, body: file.body }
}

/** Returns true for a safe path segment: not hidden, and without separators of any operating system. */
function isPlain(segment: string): boolean {
  return segment !== '' && !segment.startsWith('.') && !/[\\/:\0]/.test(segment)
}

/** Reads a file. Returns null also for a symbolic link that leaves the folder, so that it exposes no other file. */
async function bytesOf(folder: string, path: readonly string[]): Promise<Uint8Array<ArrayBuffer> | null> {
  try {
    const root = await realpath(folder)
    const file = await realpath(join(root, ...path))
    return file.startsWith(root.endsWith(sep) ? root : `${root}${sep}`) ? new Uint8Array(await readFile(file)) : null
  } catch (error) {
    if (isMissing(error)) return null
    throw error
  }
}

const missing: ReadonlySet<unknown> = new Set(['ENOENT', 'EISDIR', 'ENOTDIR', 'ENAMETOOLONG', 'ELOOP'])

function isMissing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && missing.has(error.code)
}
