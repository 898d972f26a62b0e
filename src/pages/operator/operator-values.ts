/** The values of every page of operators. */
import { noticeOf } from '../../http/dispatch/flash-messages.ts'
import type { OperatorExchange } from '../../http/dispatch/route.ts'
import { type SiteDeps, siteValues } from '../shared/site.ts'
import type { OperatorPageValues } from './values.ts'

export interface OperatorValuesDeps extends SiteDeps {
  readonly baseUrl: string
  /** Unix milliseconds. */
  readonly now: () => number
}

export function operatorValuesOf(
  deps: OperatorValuesDeps,
  { request, operator, csrfToken }: OperatorExchange,
): OperatorPageValues {
  const language = deps.languages.of(request)
  const notice = noticeOf(request)
  return {
    ...siteValues(deps, language),
    operator: operator.name,
    own_www: `${deps.basePath}/${operator.actorId}/www`,
    root: `${deps.basePath}/admin`,
    csrf_token: csrfToken,
    notice: notice === null ? null : language.messages.notices[notice],
  }
}
