/** The values of every page, and the headers that name its language. */
import type { Identity } from '../../app/identity.ts'
import type { HttpResponse } from '../../http/edge/response.ts'
import type { PageLanguage, Presentation } from '../languages/language.ts'
import type { Languages } from '../languages/languages.ts'
import { assetPath } from './assets.ts'
import type { SiteValues } from './values.ts'

export interface SiteDeps {
  readonly identity: Pick<Identity, 'name'>
  /** Path prefix of the service; empty without one. */
  readonly basePath: string
  readonly languages: Languages
}

export function siteValues({ basePath, identity }: Omit<SiteDeps, 'languages'>, shown: Presentation): SiteValues {
  const { tag, direction, theme, look } = shown
  return {
    base_path: basePath,
    name: identity.name,
    language: tag,
    direction,
    theme,
    logo: assetPath(look.logo),
    accent_sheet: look.accent === null ? null : assetPath(look.accent),
  }
}

/** Names the language of a page, and what a cache must compare before it uses the page for another request. */
export function inLanguage(response: HttpResponse, { tag }: PageLanguage): HttpResponse {
  return {
    ...response,
    headers: { 'Content-Language': tag, Vary: 'Accept-Language, Cookie', ...response.headers },
  }
}
