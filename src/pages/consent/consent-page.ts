/** The page that asks the owner to authorize a client. */
import type { Actor } from '../../actor/actor.ts'
import type { AuthorizationRequest } from '../../authorization-server/authorization-request.ts'
import type { Client } from '../../authorization-server/client.ts'
import { isLoopback, shownTarget } from '../../authorization-server/redirect-uri.ts'
import type { Config } from '../../config/options.ts'
import type { Presentation } from '../languages/language.ts'
import { inLanguage, type SiteDeps, siteValues } from '../shared/site.ts'
import type { PageSet } from '../shared/page-set.ts'
import { rightsInWords } from '../shared/rights.ts'
import { visible } from '../shared/visible.ts'
import type { Relationships } from '../../trust/relationships.ts'
import { type ProviderTargetDeps, providerTargets, webProviders } from '../../http/dispatch/sign-in-address.ts'
import type { BaseUrl } from '../../http/dispatch/urls.ts'
import { type HttpResponse, html } from '../../http/edge/response.ts'
import { pagePolicy } from '../../http/edge/security-headers.ts'

export interface OfferedTypeDeps {
  readonly relationships: Relationships
  readonly config: Pick<Config, 'clientTrustTypes'>
}

export interface ConsentPageDeps extends OfferedTypeDeps, ProviderTargetDeps, SiteDeps, BaseUrl {
  readonly config: Pick<Config, 'clientTrustTypes' | 'mode'>
  readonly pages: Pick<PageSet, 'authorization'>
}

export interface ConsentQuestion {
  readonly client: Client
  readonly asked: AuthorizationRequest
  /** Who is signed in already. */
  readonly owner: Actor | null
  readonly consent: string
  readonly language: Presentation
}

export async function showConsentPage(
  deps: ConsentPageDeps,
  { client, asked, owner, consent, language }: ConsentQuestion,
): Promise<HttpResponse> {
  const types = offeredTypes(deps).flatMap((name) => {
    const type = deps.relationships.types.find(name)
    return type === undefined ? [] : [type]
  })
  const providers = webProviders(deps)
  const { messages } = language
  const page = await deps.pages.authorization({
    ...siteValues(deps, language),
    consent,
    form_action: `${deps.basePath}/oauth/authorize`,
    form_method: 'POST',
    client_id: client.clientId,
    client_name: visible(client.name),
    client_host: client.clientId.startsWith('https://') ? new URL(client.clientId).host : '',
    redirect_host: asked.device === undefined ? visible(shownTarget(asked.redirectUri)) : '',
    is_local: asked.device === undefined && isLoopback(asked.redirectUri),
    user_code: asked.device?.userCode ?? null,
    trust_types: types.map(({ name, display_name, description }) => ({
      name,
      display_name,
      description,
      rights: rightsInWords(deps.relationships.effective(name, null), messages).filter(({ is_granted }) => is_granted),
    })),
    default_trust_type: defaultTypeOf(deps, client),
    signed_in_as: owner === null ? null : visible(owner.creator),
    oauth_providers: providers.map(({ name, displayName }) => ({ name, display_name: displayName })),
    error: owner === null && providers.length === 0 ? messages.consent.noProvider : null,
  })
  const answer = html(200, page, {
    'Content-Security-Policy': pagePolicy(deps.baseUrl, [
      ...providerTargets(deps),
      ...(asked.device === undefined ? [targetOf(asked.redirectUri)] : []),
    ]),
  })
  return inLanguage(answer, language)
}

/** Returns the offered trust types. Powerful types need a typed confirmation on the page of an existing connection. */
export function offeredTypes({ config, relationships }: OfferedTypeDeps): readonly string[] {
  return config.clientTrustTypes.filter((name) => !relationships.types.needsConfirmation(name))
}

/** Returns the preselected trust type: the requested type if it is offered, else `mcp_client`. */
function defaultTypeOf(deps: OfferedTypeDeps, client: Client): string {
  const offered = offeredTypes(deps)
  return offered.includes(client.trustType) ? client.trustType : (offered[0] ?? 'mcp_client')
}

/** Returns the CSP source of a redirect URI. */
function targetOf(redirectUri: string): string {
  const url = new URL(redirectUri)
  // A CSP source cannot contain an IPv6 address.
  return !/^https?:$/.test(url.protocol) || url.host.startsWith('[') ? url.protocol : url.origin
}
