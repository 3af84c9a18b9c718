/* Reads of nothing, from no stream. */
#include "place.h"

int main(void)
{
    static char bytes[8];
    FILE *volatile none = NULL;
    printf("%zu %zu\n", fread(bytes, 1, 0, none), fread(bytes, 0, 5, none));
    char **volatile line = NULL, *text = NULL;
    size_t *volatile size = NULL, bytes_of_text = 0;
    errno = 0;
    ssize_t result = getline((char **)line, (size_t *)size, none);
    printf("%zd %d\n", result, errno);
    errno = 0;
    result = getdelim(&text, (size_t *)size, ':', none);
    printf("%zd %d\n", result, errno);
    errno = 0;
    result = __getdelim((char **)line, &bytes_of_text, ':', none);
    printf("%zd %d\n", result, errno);
    return 0;
}
