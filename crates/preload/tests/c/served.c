/* Calls that the buffer of a stream can serve. Usage: served getc|fgets|getline|fread CALLS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv)
{
    char line[64], *grown = NULL; size_t size = 0;
    if (argc != 3) return 2;
    /* One long file: a buffer of 1 MiB is filled once, before anything is counted. */
    FILE *file = fopen("lines", "w");
    for (int i = 0; i < 100000; i++) fputs("12345678\n", file);
    fclose(file);
    FILE *stream = fopen("lines", "r");
    setvbuf(stream, malloc(1 << 20), _IOFBF, 1 << 20);
    long calls = atol(argv[2]);
    if (fread(line, 1, 9, stream) != 9 || fgets(line, sizeof line, stream) == NULL || getline(&grown, &size, stream) != 9 || getc(stream) < 0) return 1;
    if (strcmp(argv[1], "getc") == 0) for (long i = 0; i < calls; i++) if (getc(stream) < 0) return 1;
    if (strcmp(argv[1], "fgets") == 0) for (long i = 0; i < calls; i++) if (fgets(line, sizeof line, stream) == NULL) return 1;
    if (strcmp(argv[1], "getline") == 0) for (long i = 0; i < calls; i++) if (getline(&grown, &size, stream) < 0) return 1;
    if (strcmp(argv[1], "fread") == 0) for (long i = 0; i < calls; i++) if (fread(line, 1, 9, stream) != 9) return 1;
    return 0;
}
