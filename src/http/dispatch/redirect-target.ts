/** Where a form may ask to be sent afterwards: only to addresses of this service. */

/** @returns the path within the service, prefix, query and fragment included; null for any other address. */
export function parseRedirectTarget(
  wanted: string,
  { baseUrl, basePath }: Record<'baseUrl' | 'basePath', string>,
): string | null {
  // Blanks, control characters and backslashes are read differently by browsers and by parsers.
  if (!/^\/(?!\/)[!-~]*$/.test(wanted) || wanted.includes('\\')) return null
  const url = URL.parse(wanted, baseUrl)
  if (url === null || url.origin !== new URL(baseUrl).origin) return null
  const isWithin = url.pathname === basePath || url.pathname.startsWith(`${basePath}/`)
  // Dots that led out of the prefix are resolved by now, and so are a second slash that they left at the front.
  return isWithin && !url.pathname.startsWith('//') ? url.pathname + url.search + url.hash : null
}
