/** Discovery documents for clients (RFC 8414, RFC 9728). */
import { supportedVersionTexts } from './protocol-versions.ts'
import { assertionAlgorithms } from './client-assertion.ts'
import { authMethods, grantTypes } from './client.ts'
import { actorResource, mcpResource, scopes, scopesOf } from './resources.ts'

export function authorizationServerMetadata(baseUrl: string): object {
  return {
    issuer: baseUrl,
    authorization_endpoint: `${baseUrl}/oauth/authorize`,
    token_endpoint: `${baseUrl}/oauth/token`,
    registration_endpoint: `${baseUrl}/oauth/register`,
    device_authorization_endpoint: `${baseUrl}/oauth/device_authorization`,
    revocation_endpoint: `${baseUrl}/oauth/token/revoke`,
    scopes_supported: scopes,
    response_types_supported: ['code'],
    response_modes_supported: ['query'],
    grant_types_supported: grantTypes,
    token_endpoint_auth_methods_supported: authMethods,
    token_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
    revocation_endpoint_auth_methods_supported: authMethods,
    revocation_endpoint_auth_signing_alg_values_supported: assertionAlgorithms,
    code_challenge_methods_supported: ['S256'],
    authorization_response_iss_parameter_supported: true,
    client_id_metadata_document_supported: true,
    service_documentation: `${baseUrl}/mcp/info`,
    mcp_resource: `${baseUrl}/mcp`,
    mcp_versions_supported: supportedVersionTexts,
  }
}

/** The endpoint of AI clients as a resource. */
export function mcpResourceMetadata(baseUrl: string, name: string): object {
  return {
    ...resourceMetadata(baseUrl, mcpResource(baseUrl), name),
    resource_documentation: `${baseUrl}/mcp/info`,
    mcp_version: supportedVersionTexts[1],
    supported_protocol_versions: supportedVersionTexts,
    capabilities: { tools: true, prompts: true, resources: true, roots: false },
  }
}

/** The addresses of an actor as a resource. The document is the same for an actor that does not exist. */
export function actorResourceMetadata(baseUrl: string, actorId: string, name: string): object {
  return resourceMetadata(baseUrl, actorResource(baseUrl, actorId), name)
}

/** @param resource URL that the client requested, because clients refuse a document about another URL. */
function resourceMetadata(baseUrl: string, resource: string, name: string): object {
  return {
    resource,
    authorization_servers: [baseUrl],
    scopes_supported: scopesOf(resource, baseUrl),
    bearer_methods_supported: ['header'],
    resource_name: name,
    resource_policy_uri: baseUrl,
  }
}
